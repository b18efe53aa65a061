"""What shows by language that a word names a thing, and whose: the words that stand before it.

A noun follows an article, a possessive or a preposition; how something is spoken of follows "is" or
"so"; and who tells of their own life says "I" and "my". Some nouns name nothing by themselves but
how something is spoken of: "a difference", "the impact". General knowledge of each language, fitted
to nobody's texts. A language that is not here has no such test.

Source:
    Schmid, "English Abstract Nouns as Conceptual Shells" (2000), for nouns that are empty without
    what they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class NounMarks(Struct, frozen=True):
    """How nouns show in one language."""

    words: frozenset[str]  # articles, possessives, prepositions
    adjectives_first: bool  # whether what describes a noun stands between these and it
    capital: bool = False  # whether nouns have a capital letter, which is all that is needed
    others: frozenset[str] = frozenset()  # before what is no noun: "so tough", "they help"
    own: frozenset[str] = frozenset()  # of who tells of themselves: "I", "my", "we"
    shells: frozenset[str] = frozenset()  # nouns that name nothing by themselves: "difference"

    def tells_nothing(self, word: str) -> bool:
        """Whether a word, case folded, names no thing wherever it stands."""
        return word in self.words or word in self.others or word in self.shells


def _marks(
    text: str,
    *,
    adjectives_first: bool,
    capital: bool = False,
    others: str = "",
    own: str = "",
    shells: str = "",
) -> NounMarks:
    return NounMarks(
        frozenset(text.split()),
        adjectives_first,
        capital,
        frozenset(others.split()),
        frozenset(own.split()),
        frozenset(shells.split()),
    )


BY_LANGUAGE: Mapping[str, NounMarks] = {
    "en": _marks(
        "a an the my your his her its our their some any this these those no every each another"
        " of for in on with about from at by into through during",
        adjectives_first=True,
        others="is are was were be been being am isn't aren't wasn't it's that's i'm you're he's"
        " she's we're they're what's so very really too super pretty quite more most feel feels"
        " feeling felt get gets getting got stay stays staying stayed seem seems"
        " i you he she it we they who to can could will would should may might must let's don't"
        " doesn't didn't can't won't couldn't not i'll we'll you'll i'd we'd always never",
        own="i my mine we our ours",
        shells="advice answer answers aspect attempt attitude aspects blast bond bunch case chance"
        " chances change changes choice choices comment comments couple deal decision detail"
        " details difference differences difficulty effect effects effort efforts example"
        " fact fam fave faves favorite favorites favourite favourites feeling feelings focus"
        " fun hint impact influence interest issue issues joy kind luck matter meaning"
        " memories memory message mindset mistake moment moments news note opinion option"
        " options outlook part parts photo photos pic pics picture pictures piece pieces"
        " place places plan plans plenty point points positive positivity potential problem"
        " problems process progress purpose question questions reason reasons recommendation"
        " recommendations remind reminder reminders reminds result results sense shot side"
        " sign situation situations sort spot stage step steps stories story style success"
        " suggestion suggestions support surprise talk thoughts tip tips together topic"
        " topics touch trouble truth update updates vibe vibes view weekend weekends wish"
        " word words",
    ),
    "de": _marks(
        "",
        adjectives_first=True,
        capital=True,
        own="ich mir mich mein meine meinem meinen meiner meines wir uns unser unsere unserem"
        " unseren unserer",
        shells="ahnung angelegenheit antwort art aspekt augenblick beispiel bild bilder chance"
        " detail details ding dinge effekt eindruck einfluss ende entscheidung"
        " entscheidungen erfahrung erfahrungen erfolg erinnerung erinnerungen ernst fall"
        " foto fotos frage fragen fortschritt freude gedanke gedanken gefühl gefühle"
        " gelegenheit geschichte grund gründe glück hinweis idee ideen interesse lieblings"
        " lust meinung mal menge moment momente mühe möglichkeit möglichkeiten nachricht"
        " neuigkeiten ordnung ort plan problem probleme punkt quatsch rat reihe ruhe sache"
        " sachen schritt schritte seite sinn situation spaß stelle stück stimmung teil thema"
        " tipp tipps typ unterschied unterstützung update veränderung verständnis vorschlag"
        " wahrheit weg weise wirkung wochenende wort worte wunsch zeug ziel zusammenhang"
        " überraschung",
    ),
    "nl": _marks(
        "de het een mijn je jouw zijn haar ons onze hun deze die dit dat geen elke van voor in op"
        " met over uit bij naar",
        adjectives_first=True,
        others="is was waren ben bent heel erg zo zeer te meer meest echt ik jij je hij ze we wij"
        " jullie kan kun kunnen zal zullen wil willen moet moeten niet",
        own="ik mijn we wij ons onze",
        shells="aantal advies antwoord aspect beetje beeld belangstelling besluit bericht detail"
        " deel ding dingen effect ervaring ervaringen feit foto gedachte gedachten geluk"
        " gevoel gevoelens geval gevolg herinnering herinneringen idee ideeën indruk invloed"
        " kans keuze kwestie manier mening moeite mogelijkheid moment momenten nieuws"
        " onderwerp plaats plan plek plezier probleem problemen punt reden redenen situatie"
        " soort stap stappen steun succes stuk stukje tip tips verandering verhaal"
        " verrassing verschil voorbeeld vraag vragen weekend wens woord woorden zaak zin",
    ),
    "fr": _marks(
        "le la les l un une des du de d mon ma mes ton ta tes son sa ses notre nos votre vos leur"
        " leurs ce cet cette ces au aux en dans sur avec pour chez par chaque",
        adjectives_first=False,
        others="est sont était étaient suis es être c'est très trop si plus assez vraiment"
        " tellement je j tu il elle on nous vous ils elles me te se ne pas peux peut veux veut dois"
        " doit faut",
        own="je j mon ma mes nous notre nos",
        shells="affaire aide attitude avis bonheur bout but cas chance changement chose choses"
        " choix conseil conseils côté coup cause courage décision demande détail détails"
        " différence difficulté effet effort efforts endroit envie état étape étapes exemple"
        " expérience façon fait favori favorite fin genre histoire humeur idée idées impact"
        " importance impression influence intérêt joie manière message moment moments mot"
        " mots moyen nouvelle nouvelles occasion opinion option part partie photo photos"
        " pensée pensées plaisir plan plein point possibilité problème problèmes progrès"
        " propos question questions raison raisons rappel réponse résultat sens sentiment"
        " sentiments situation sorte soutien souvenir souvenirs succès suite sujet surprise"
        " tas truc trucs type vérité voeu week-end",
    ),
    "es": _marks(
        "el la los las un una unos unas del de al mi mis tu tus su sus nuestro nuestra nuestros"
        " nuestras este esta estos estas ese esa cada en con sobre por para",
        adjectives_first=False,
        others="es son era eran fue soy eres ser está están estoy muy tan más demasiado bastante yo"
        " tú él ella nosotros ellos me te se nos no puedo puede quiero quiere debo debe que",
        own="yo me mi mis nosotros nos nuestro nuestra nuestros nuestras",
        shells="apoyo asunto aspecto ayuda cambio cambios caso causa clase comentario consejo"
        " consejos cosa cosas cuestión decisión detalle detalles diferencia efecto ejemplo"
        " emoción esfuerzo etapa éxito experiencia experiencias fin finde foto fotos forma"
        " ganas gusto hecho historia idea ideas ilusión impacto importancia influencia"
        " interés lado lugar manera mensaje momento momentos montón motivo noticia noticias"
        " oportunidad opción opinión palabra palabras parte paso pasos pensamiento pregunta"
        " preguntas problema problemas progreso propósito punto razón razones recuerdo"
        " recuerdos respuesta resultado sensación sentido sentimiento sentimientos situación"
        " sorpresa suerte sugerencia tema temas tipo verdad vez",
    ),
    "it": _marks(
        "il lo la i gli le l un uno una del dello della dei degli delle dell di al allo alla ai"
        " agli alle all nel nello nella nei negli nelle nell sul sulla sull dal dalla dall mio mia"
        " miei mie tuo tua suo sua nostro nostra questo questa ogni in con per",
        adjectives_first=False,
        others="è sono era erano sei essere sta sto molto troppo così più tanto davvero"
        " io tu lui lei noi voi loro mi ti si ci vi non posso può voglio vuole devo deve che",
        own="io mi mio mia miei mie noi ci nostro nostra nostri nostre",
        shells="aiuto aspetto caso cambiamento causa consiglio consigli cosa cose decisione"
        " dettaglio dettagli differenza effetto esempio esperienza esperienze fatica fatto"
        " fine foto fortuna genere gioia idea idee impatto importanza impressione influenza"
        " interesse lato luogo maniera messaggio modo momento momenti motivo notizia notizie"
        " occasione opinione opzione parola parole parte passo passi pensiero pensieri"
        " piacere piano posto problema problemi progresso proposito punto ragione ricordo"
        " ricordi risposta risultato scelta senso sensazione sentimento sentimenti"
        " situazione sorpresa sostegno storia successo tema tipo umore verità voglia weekend",
    ),
    "pt": _marks(
        "o a os as um uma uns umas do da dos das de no na nos nas ao à aos às meu minha meus minhas"
        " teu tua seu sua seus suas nosso nossa este esta esse essa cada em com sobre por pelo pela"
        " para",
        adjectives_first=False,
        others="é são era eram foi sou és ser está estão estou muito tão mais demais bastante"
        " eu tu você ele ela nós eles elas me te se não posso pode quero quer devo deve que",
        own="eu me meu minha meus minhas nós nos nosso nossa nossos nossas",
        shells="ajuda apoio aspecto assunto bocado caso causa coisa coisas comentário conselho"
        " conselhos decisão detalhe detalhes diferença efeito esforço etapa exemplo"
        " experiência experiências fato facto fim forma foto fotos gosto história ideia"
        " ideias impacto importância impressão influência interesse jeito lado lembrança"
        " lembranças lugar maneira mensagem momento momentos monte motivo mudança mudanças"
        " notícia notícias oportunidade opção opinião palavra palavras parte passo passos"
        " pensamento pergunta perguntas problema problemas progresso propósito ponto razão"
        " razões resposta resultado sensação sentido sentimento sentimentos situação sorte"
        " sucesso sugestão surpresa tema tipo verdade vez vontade",
    ),
}
