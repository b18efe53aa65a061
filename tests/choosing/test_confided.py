"""What is told in confidence is seen, and what only sounds like it is not."""

from __future__ import annotations

import pytest

from bumble.choosing import rules

CONFIDED = {
    "en": (
        "ive something to confess, i fell in the bathroom",
        "don't you dare repeat this to mum, i dropped out of the course",
        "my husband doesn't know i still smoke",
        "you're the first person i've told, we lost the baby",
        "officially nobody knows yet but i got the promotion",
        "psst. i'm leaving in june",
        "she must never find out that i read her diary",
        "ive been seeing someone behind his back",
        "i haven't told dad about the crash",
        "planning a surprise party for my wife on saturday",
        "keep quiet about it please, we are selling the farm",
        "i'd like this to stay between you and me: i took the money",
        "dont breathe a word, we eloped",
        "please keep this from Nora for the moment: i applied in Oslo",
    ),
    "de": (
        "sag oma nix aber ich zieh nach hamburg",
        "Nora soll davon noch nichts hören: man hat mir in Oslo eine Stelle angeboten",
        "erzähl Peter nichts davon, ich hab gekündigt",
        "ich muss dir was beichten, ich bin gestern gefallen",
        "aber dass du das ja nicht der Selina erzählst, ich hab geraucht",
        "erzähl das bloß nicht weiter, ich hab den job hingeschmissen",
        "mein mann weiß nicht dass ich noch rauche",
        "du bist der erste dem ich das sage, wir haben das kind verloren",
        "offiziell weiß es noch keiner, aber ich werd abteilungsleiterin",
        "psst, ich zieh im juni aus",
        "sie darf nie erfahren dass ich ihr tagebuch gelesen hab",
        "ich treff mich hinter seinem rücken mit jemandem",
        "von dem unfall hab ich papa noch nichts gesagt",
        "ich plane eine überraschungsparty für meine frau am samstag",
        "halt bitte den mund darüber, wir verkaufen den hof",
        "kein wort zu niemandem, wir haben heimlich geheiratet",
        "meine eltern denken ich studiere noch",
    ),
    "es": (
        "no vayas contando esto por ahí, he dejado la carrera",
        "mi marido no sabe que sigo fumando",
        "eres la primera a quien se lo cuento, perdimos al bebé",
        "oficialmente nadie lo sabe todavía pero me ascienden",
        "shh, me voy de casa en junio",
        "que mi hermana no se entere de que leí su diario",
        "me veo con alguien a sus espaldas",
        "a papá todavía no le he dicho lo del accidente",
        "estoy preparando una fiesta sorpresa para mi mujer el sábado",
        "de esto ni una palabra a nadie, vendemos la finca",
        "mis padres creen que sigo estudiando",
        "no le cuentes nada a mi jefe, tengo otra oferta",
    ),
    "fr": (
        "le répète surtout pas, j'ai laissé tomber la fac",
        "mon mari sait pas que je fume encore",
        "t'es la première à qui je le dis, on a perdu le bébé",
        "officiellement personne est au courant mais je passe cheffe",
        "chut, je pars de chez lui en juin",
        "faut jamais qu'elle apprenne que j'ai lu son journal",
        "je vois quelqu'un derrière son dos",
        "j'ai encore rien dit à papa pour l'accident",
        "je prépare une fête surprise pour ma femme samedi",
        "pas un mot à qui que ce soit, on vend la ferme",
        "mes parents pensent que je suis toujours en licence",
        "n'en parlez pas à mon chef, j'ai une autre offre",
    ),
    "it": (
        "non andarlo a dire in giro, ho mollato l'università",
        "mio marito non sa che fumo ancora",
        "sei la prima a cui lo dico, abbiamo perso il bambino",
        "ufficialmente nessuno lo sa ancora ma divento caporeparto",
        "shh, a giugno me ne vado di casa",
        "lei non deve mai scoprire che ho letto il suo diario",
        "mi vedo con uno alle sue spalle",
        "a papà non ho ancora detto niente dell'incidente",
        "sto preparando una festa a sorpresa per mia moglie sabato",
        "neanche una parola con nessuno, vendiamo la cascina",
        "i miei pensano che studio ancora all'università",
        "non dire niente al mio capo, ho un'altra offerta",
    ),
    "pt": (
        "não vai espalhar isso por aí, larguei a faculdade",
        "meu marido não sabe que eu ainda fumo",
        "você é a primeira pessoa pra quem eu conto, perdemos o bebê",
        "oficialmente ninguém sabe ainda mas vou ser promovida",
        "xiu, saio de casa em junho",
        "ela nunca pode descobrir que eu li o diário dela",
        "estou saindo com alguém nas costas dele",
        "ainda não contei ao meu pai do acidente",
        "tô preparando uma festa surpresa pra minha mulher no sábado",
        "nem uma palavra a ninguém, vamos vender o sítio",
        "meus pais pensam que eu ainda estudo",
        "não digas nada ao meu chefe, tenho outra proposta",
    ),
}
OPEN = {
    "en": (
        "nobody knows how that machine works",
        "don't tell me you like that film",
        "my brother doesn't know how to swim",
        "i can't say i like the new flat much",
        "my mum thinks i should eat more",
        "it's no secret that i hate mondays",
        "what's the secret of a good sourdough",
        "he never said a word during the whole dinner",
        "my kids don't share well with others",
        "we know nobody in the new town yet",
        "i never told you, my sister has twins",
        "the puppy doesn't know his name yet",
    ),
    "de": (
        "sag mal nichts schlechtes über meine oma",
        "sag mama wir kommen um acht",
        "keiner weiß wie diese maschine funktioniert",
        "sag mir nicht du magst den film",
        "mein bruder weiß nicht wie man schwimmt",
        "ich kann nicht sagen dass mir die neue wohnung gefällt",
        "meine mutter meint ich soll mehr essen",
        "ist kein geheimnis dass ich montage hasse",
        "was ist das geheimnis von gutem sauerteig",
        "unter uns wohnt seit mai eine familie mit drei kindern",
        "wir kennen in der neuen stadt noch keinen",
        "hab ich dir nie erzählt, meine schwester hat zwillinge",
        "ich weiß noch nicht ob ich komme",
        "mein sohn soll abends nicht so viel lesen",
    ),
    "es": (
        "nadie sabe cómo funciona esa máquina",
        "no me digas que te gusta esa peli",
        "mi hermano no sabe nadar",
        "no puedo decir que me guste el piso nuevo",
        "mi madre cree que debería comer más",
        "no es ningún secreto que odio los lunes",
        "cuál es el secreto de una buena masa madre",
        "mi casa queda aquí al lado de la plaza",
        "no conocemos a nadie en la ciudad nueva",
        "nunca te lo he dicho, mi hermana tiene gemelos",
        "no sé si voy a ir",
        "mi hijo no puede ver la pizarra sin gafas",
    ),
    "fr": (
        "personne sait comment marche cette machine",
        "me dis pas que t'aimes ce film",
        "mon frère sait pas nager",
        "je peux pas dire que l'appart me plaise",
        "ma mère pense que je devrais manger plus",
        "c'est pas un secret que je déteste les lundis",
        "c'est quoi le secret de un bon levain",
        "ce soir je reste ici avec les enfants",
        "on connait personne dans la nouvelle ville",
        "je te l'ai jamais dit, ma soeur a des jumeaux",
        "je sais pas si je viens",
        "mon fils parle pas encore",
    ),
    "it": (
        "nessuno sa come funziona quella macchina",
        "non dirmi che ti piace quel film",
        "mio fratello non sa nuotare",
        "non posso dire che la casa nuova mi piaccia",
        "mia madre dice che dovrei mangiare di più",
        "non è un segreto che odio i lunedì",
        "qual è il segreto di una buona pasta madre",
        "mia cugina resta qui a dormire fino a domenica",
        "non conosciamo nessuno nella città nuova",
        "non te l'ho mai detto, mia sorella ha due gemelli",
        "non so se vengo",
        "mio figlio non parla ancora",
    ),
    "pt": (
        "ninguém sabe como funciona essa máquina",
        "não me diga que você gosta desse filme",
        "meu irmão não sabe nadar",
        "não posso dizer que gosto da casa nova",
        "minha mãe acha que eu devia comer mais",
        "não é segredo que odeio segunda",
        "qual é o segredo de um bom pão",
        "minha casa fica aqui do lado da praça",
        "não conhecemos ninguém na cidade nova",
        "nunca te contei, minha irmã tem gêmeos",
        "não sei se vou",
        "meu filho não fala ainda",
    ),
}


@pytest.mark.parametrize(
    ("code", "text"), [(code, text) for code, texts in CONFIDED.items() for text in texts]
)
def test_every_natural_way_to_ask_for_secrecy_is_seen(code: str, text: str) -> None:
    assert rules.judge(text, code).confided


@pytest.mark.parametrize(
    ("code", "text"), [(code, text) for code, texts in OPEN.items() for text in texts]
)
def test_what_only_sounds_like_a_secret_is_none(code: str, text: str) -> None:
    assert not rules.judge(text, code).confided


HUSHES = (
    ("en", "don't tell anyone"),
    ("en", "not a word to my brother"),
    ("de", "sags keinem"),
    ("de", "bitte nicht weitersagen ja"),
    ("es", "no se lo digas a nadie"),
    ("fr", "le dis à personne hein"),
    ("it", "non dirlo a nessuno"),
    ("pt", "não conta pra ninguém tá"),
)
ANNOUNCES = (
    ("en", "this stays between us:"),
    ("en", "can you keep a secret?"),
    ("de", "das bleibt unter uns:"),
    ("es", "esto queda entre nosotros:"),
    ("fr", "ça reste entre nous..."),
    ("it", "resti tra noi:"),
    ("pt", "isso fica entre nós:"),
)


@pytest.mark.parametrize(("code", "text"), HUSHES)
def test_a_bare_request_for_silence_is_about_what_came_before(code: str, text: str) -> None:
    assert rules.judge(text, code).hushes == "before"


@pytest.mark.parametrize(("code", "text"), ANNOUNCES)
def test_an_announcement_is_about_what_comes_next(code: str, text: str) -> None:
    assert rules.judge(text, code).hushes == "after"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "don't tell me"),
        ("en", "nobody knows why"),
        ("de", "sag mir nichts"),
        ("en", "don't tell mum, i bought the red car for 4000"),
    ],
)
def test_what_asks_for_no_silence_or_tells_itself_covers_nothing_else(code: str, text: str) -> None:
    assert rules.judge(text, code).hushes == ""
