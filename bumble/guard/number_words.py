"""Numbers in words: which number a word or several stand for, in the languages people write.

All words are compared folded.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence, Set
from decimal import Decimal
from functools import lru_cache

from msgspec import Struct

from bumble import patterns
from bumble.text import stop_words, words

# Numbers as words, without accents: from one to twenty, the tens to ninety, a hundred, a thousand.
_CARDINALS = {
    "en": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
    " hundred thousand",
    "de": "eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn"
    " funfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreissig vierzig funfzig sechzig siebzig"
    " achtzig neunzig hundert tausend",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
    " dix-sept dix-huit dix-neuf vingt trente quarante cinquante soixante soixante-dix"
    " quatre-vingts quatre-vingt-dix cent mille",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
    " dieciseis diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta"
    " ochenta noventa cien mil",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici"
    " quindici sedici diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta"
    " settanta ottanta novanta cento mille",
    "pt": "um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze"
    " dezesseis dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta"
    " noventa cem mil",
    "nl": "een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien"
    " zestien zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig"
    " negentig honderd duizend",
}
_VALUES = (*range(1, 21), *range(30, 100, 10), 100, 1000)
# Other words for small numbers: they support, but claim nothing.
_ORDINAL_ROWS = {
    1: "first erste ersten erster premier premiere primero primera primo prima primeiro eerste"
    " الاولى الواحدة الحادية",
    2: "second zweite zweiten zweiter deuxieme segundo segunda secondo tweede الثانية",
    3: "third dritte dritten dritter drittes troisieme tercero tercera terzo terceiro derde"
    " الثالثة",
    4: "الرابعة",
    5: "الخامسة",
    6: "السادسة",
    7: "السابعة",
    8: "الثامنة",
    9: "التاسعة",
    10: "العاشرة",
}
_OTHER_ROWS = {
    1: "a an ein eine einen einem einer una une uma",
    2: "twice both pair couple twins beide beiden zwo paar zwillinge duas dous jumeaux jumelles"
    " gemelos gemelas gemelli gemelle gemeos tweeling",
    3: "thrice triplets drillinge",
    12: "dozen dutzend douzaine docena dozzina duzia dozijn",
    20: "score",
}
_SCALE_ROWS = {
    100_000: "lakh lakhs",
    1_000_000: "million millions mio millionen millones milioni milhao milhoes miljoen",
    10_000_000: "crore crores",
    1_000_000_000: "billion billions mrd milliarde milliarden milliards miliardi miljard",
}
# Of languages whose words mean too much elsewhere: they count in texts of their own alone.
_FURTHER = {
    "sv": "ett tva tre fyra fem sex sju atta nio tio elva tolv tretton fjorton femton sexton"
    " sjutton arton nitton tjugo trettio fyrtio femtio sextio sjuttio attio nittio hundra tusen",
    "da": "en to tre fire fem seks syv otte ni ti elleve tolv tretten fjorten femten seksten"
    " sytten atten nitten tyve tredive fyrre halvtreds tres halvfjerds firs halvfems hundrede"
    " tusind",
    "no": "en to tre fire fem seks sju atte ni ti elleve tolv tretten fjorten femten seksten"
    " sytten atten nitten tjue tretti førti femti seksti sytti atti nitti hundre tusen",
    "pl": "jeden dwa trzy cztery piec szesc siedem osiem dziewiec dziesiec jedenascie dwanascie"
    " trzynascie czternascie pietnascie szesnascie siedemnascie osiemnascie dziewietnascie"
    " dwadziescia trzydziesci czterdziesci piecdziesiat szescdziesiat siedemdziesiat"
    " osiemdziesiat dziewiecdziesiat sto tysiac",
    "cs": "jeden dva tri ctyri pet sest sedm osm devet deset jedenact dvanact trinact ctrnact"
    " patnact sestnact sedmnact osmnact devatenact dvacet tricet ctyricet padesat sedesat"
    " sedmdesat osmdesat devadesat sto tisic",
    "ro": "unu doi trei patru cinci sase sapte opt noua zece unsprezece doisprezece treisprezece"
    " paisprezece cincisprezece saisprezece saptesprezece optsprezece nouasprezece douazeci"
    " treizeci patruzeci cincizeci saizeci saptezeci optzeci nouazeci suta mie",
    "fi": "yksi kaksi kolme nelja viisi kuusi seitseman kahdeksan yhdeksan kymmenen yksitoista"
    " kaksitoista kolmetoista neljatoista viisitoista kuusitoista seitsemantoista"
    " kahdeksantoista yhdeksantoista kaksikymmenta kolmekymmenta neljakymmenta viisikymmenta"
    " kuusikymmenta seitsemankymmenta kahdeksankymmenta yhdeksankymmenta sata tuhat",
    "tr": "bir iki uc dort bes altı yedi sekiz dokuz on onbir oniki onuc ondort onbes onaltı"
    " onyedi onsekiz ondokuz yirmi otuz kırk elli altmıs yetmis seksen doksan yuz bin",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать"
    " тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
    " двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто тысяча",
}
# From one to a hundred, and the larger ones; each form by its number.
_HINDI = """
एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस बीस
इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस तीस इकतीस बत्तीस तैंतीस चौंतीस पैंतीस छत्तीस
सैंतीस अड़तीस उनतालीस चालीस इकतालीस बयालीस तैंतालीस चवालीस पैंतालीस छियालीस सैंतालीस अड़तालीस उनचास
पचास इक्यावन बावन तिरपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ साठ इकसठ बासठ तिरसठ चौंसठ पैंसठ छियासठ
सड़सठ अड़सठ उनहत्तर सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर पचहत्तर छिहत्तर सतहत्तर अठहत्तर उनासी अस्सी
इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी अट्ठासी नवासी नब्बे इक्यानवे बानवे तिरानवे चौरानवे
पंचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे सौ
"""
_HINDI_FORMS = {"पांच": 5, "छः": 6, "छ": 6, "छे": 6, "पन्द्रह": 15, "डेढ़": 1.5, "ढाई": 2.5}
_HINDI_FORMS |= {"हज़ार": 1000, "लाख": 100_000, "करोड़": 10_000_000}
_ARABIC = {
    1: "واحد واحدة",
    2: "اثنان اثنين اثنتان اثنتين اثنا اثني اثنتا",
    3: "ثلاثة ثلاث",
    4: "أربعة أربع",
    5: "خمسة خمس",
    6: "ستة ست",
    7: "سبعة سبع",
    8: "ثمانية ثماني ثمان",
    9: "تسعة تسع",
    10: "عشرة عشر",
    20: "عشرون عشرين",
    30: "ثلاثون ثلاثين",
    40: "أربعون أربعين",
    50: "خمسون خمسين",
    60: "ستون ستين",
    70: "سبعون سبعين",
    80: "ثمانون ثمانين",
    90: "تسعون تسعين",
    100: "مئة مائة",
    200: "مئتان مئتين مئتي مائتان مائتين مائتي",
    1000: "ألف آلاف",
    2000: "ألفان ألفين ألفي",
}
_ARABIC_LEADS = ("", "و", "ب", "ل", "ف")  # and, with, for, so: written together with a number
_HUNDREDS = ("مئة", "مائة")
# From two hundred to nine hundred; in Italian they are centuries, too: "il Trecento".
_HUNDREDS_BY_LANGUAGE = {
    "es": "doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos"
    " novecientos",
    "pt": "duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos",
}
_BY_LANGUAGE: dict[str, dict[str, float]] = {
    code: dict(zip(row.split(), _VALUES, strict=True)) for code, row in _CARDINALS.items()
}
for _code, _row in _HUNDREDS_BY_LANGUAGE.items():
    for _times, _hundred in enumerate(_row.split(), 2):
        _forms = (_hundred, _hundred.removesuffix("os") + "as")  # duzentas
        _BY_LANGUAGE[_code] |= dict.fromkeys(_forms, 100 * _times)
_ANY = {word: value for row in _BY_LANGUAGE.values() for word, value in row.items()}
_BY_LANGUAGE |= {
    code: dict(zip(row.split(), _VALUES, strict=True)) for code, row in _FURTHER.items()
}
_hindi = dict(zip(_HINDI.split(), range(1, 101), strict=True)) | _HINDI_FORMS
_BY_LANGUAGE["hi"] = {words.folded(word): value for word, value in _hindi.items()}
_arabic = {word: value for value, row in _ARABIC.items() for word in row.split()}
_arabic |= {
    word + hundred: value * 100
    for word, value in _arabic.items()
    for hundred in _HUNDREDS
    if 2 < value < 10
}
_BY_LANGUAGE["ar"] = {
    words.folded(lead + word): value for lead in _ARABIC_LEADS for word, value in _arabic.items()
}
_OTHER_FORMS = {
    "fr": {
        "cents": 100,
        "vingts": 20,
        "septante": 70,
        "huitante": 80,
        "octante": 80,
        "nonante": 90,
    },
    "es": {"un": 1, "ciento": 100},
    "it": {"un": 1},
    "pt": {"cento": 100},
    "sv": {"en": 1},
    "pl": {"dwie": 2, "dwoch": 2, "trzech": 3, "tysiace": 1000, "tysiecy": 1000},
}
_BY_LANGUAGE |= {code: _BY_LANGUAGE[code] | more for code, more in _OTHER_FORMS.items()}
ORDINALS = {word: value for value, row in _ORDINAL_ROWS.items() for word in row.split()}
OTHERS = {word: value for value, row in _OTHER_ROWS.items() for word in row.split()}
# These mean something else in another language: there they are no numbers.
_HOMOGRAPHS = {"premier": "fr", "premiere": "fr", "prima": "it", "primo": "it", "second": "en"}
_FOREIGN = "once elf neuf sept seize dix sieben cent mil mille quince due sei tre um un"
_ELSEWHERE = frozenset(_FOREIGN.split())
_TIMES = patterns.compile(r"(?<=\w{3})mal")  # dreimal
_JOINED_BY = ("und", "en", "og", "")  # what stands between a unit and a ten
_ORDINAL_ENDING = patterns.compile(r"(?<=\w)(?:ste[nrsm]?|te[nrsm]?|th)\Z")
_DIGITS = patterns.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = patterns.compile(r"[.,](?=\d{3}(?!\d))|,(?=(?:\d\d,)+\d{3}(?!\d))")  # 1,20,000
_HALF_WORDS = (
    "half halv halb halbe halber halbes halben demi demie media medio mezza mezzo meia meio"
)
HALVES = frozenset(_HALF_WORDS.split())
_MOST_DIGITS = 20
_INTRUDES = 1e-5  # a number of another language is rarer than that in a language's texts
_TENS = range(20, 100, 10)
_SCALES = {word: value for value, row in _SCALE_ROWS.items() for word in row.split()}
_LARGE, _DOZEN = (100, 1000, *_SCALE_ROWS), 12
JOINTS = ("and", "und", "et", "y", "e")


_MONTHS = dict(enumerate(calendar.month_name))
_HAN_DIGITS = dict(zip("〇零一二三四五六七八九两兩", (0, *range(10), 2, 2), strict=True))
_HAN_NOTHING = "〇零"
_HAN_TENS = {"十": 10, "百": 100, "千": 1000}
_HAN_SCALES = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_HAN = "".join((*_HAN_DIGITS, *_HAN_TENS, *_HAN_SCALES))
# What Chinese and Japanese count by: behind one of these a single sign is a number, too.
_COUNTERS = (
    "人個个隻只匹头頭本枚张張条條台杯歳岁才冊册部篇章节話回次度番位名円元块塊年月日天周週時时点點分"
    "秒号號階层层軒间間碗双雙家口针針縫倍级級年页頁ページキロメートルつ"
)
_PLACES = "".join((*_HAN_TENS, *_HAN_SCALES))
_FIGURE = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_HAN_NUMBER = patterns.compile(
    rf"(?!十分|万一|千万)(?:[几幾数數何][{_PLACES}]+"
    rf"|(?:{_FIGURE}[{_PLACES}][{_HAN}]*)+(?:\d+(?![年月日.,:]))?(?!\d)"
    rf"|[{_HAN}]{{2,}}|(?!一)[{_HAN}](?=[{_COUNTERS}]))"
)
_HAN_SIGN = patterns.compile(rf"{_FIGURE}|[{_HAN}]")
_HAN_RANGES = "一二|一[两兩]|[二两兩]三|三[两兩四五]|四五|五六|六七|七八|八九"
# Several tens, or one number or the next: 几十, 两三, but no digits of a longer one.
_VAGUE = patterns.compile(
    rf"\A[几幾数數何]|(?<![{''.join(_HAN_DIGITS)}])(?:{_HAN_RANGES})(?![{''.join(_HAN_DIGITS)}])"
)
_KANA = patterns.compile(r"[\u3041-\u30ff]")
_HAN_MONTH = patterns.compile(r"(?<!\d)(1[0-2]|[1-9])月(?![\d.龄齢])")
_HAN_DAY = patterns.compile(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号號]")
_COUNTED = patterns.compile(rf"(?<![\d:.,/])(\d+(?:[.,]\d+)?)([{_COUNTERS}])")


def with_digits(text: str) -> str:
    """Write the numbers and days of Chinese and Japanese in digits: 十二人, 五月三日."""
    if not stop_words.is_unspaced(text):
        return text
    is_chinese = _KANA.search(text) is None
    text = _HAN_NUMBER.sub(lambda found: of_han(found[0], shortened=is_chinese), text)
    text = _HAN_DAY.sub(
        lambda found: f" {found[3]} {_MONTHS.get(int(found[2]), '')} {found[1] or ''} ", text
    )
    text = _HAN_MONTH.sub(lambda found: f" {_MONTHS[int(found[1])]} ", text)
    return _COUNTED.sub(r" \1 \2 ", text)


def of_han(signs: str, *, shortened: bool) -> str:
    """Write the number that signs stand for, each by its place or with its ten: 二〇二七, 3万5千.

    Args:
        signs: Of a number; one that they don't tell surely (两三) stays as it is.
        shortened: Whether a digit behind a hundred or more counts its tenths: 六千五.
    """
    if _VAGUE.search(signs):
        return signs
    total = section = digits = Decimal(0)
    unit = 1
    for sign in _HAN_SIGN.findall(signs):
        if sign in _HAN_TENS:
            unit = _HAN_TENS[sign]
            section, digits = section + (digits or 1) * unit, Decimal(0)
        elif sign in _HAN_SCALES:
            unit = _HAN_SCALES[sign]
            total, section, digits = total + (section + digits or 1) * unit, Decimal(0), Decimal(0)
        elif sign in _HAN_DIGITS:
            unit = unit if sign not in _HAN_NOTHING else 1
            digits = digits * 10 + _HAN_DIGITS[sign]
        else:
            digits = Decimal(sign.replace(",", ""))
    if shortened and unit >= 100 and digits < 10:
        digits *= unit // 10
    return f"{(total + section + digits).normalize():f}"


class Run(Struct, frozen=True):
    """A number of one token or several ("four hundred and twenty")."""

    start: int  # its first token
    end: int  # one behind its last
    value: Decimal
    unit: str = ""  # what it counts, where that stands inside it


def runs(tokens: Sequence[str], language: str, small: Set[str]) -> Iterator[Run]:
    """Find the numbers in a text, by its folded tokens; `small` have no capital: no names."""
    index = 0
    while index < len(tokens):
        word = tokens[index]
        start, total = index, value(word, language, is_name=word not in small)
        index += 1
        if total is None:
            continue
        while index < len(tokens):
            joint = tokens[index] in JOINTS and index + 1 < len(tokens)
            word = tokens[index + joint]
            following = value(word, language, is_name=word not in small)
            if following == _DOZEN and word in OTHERS and tokens[start] not in OTHERS:
                total, index = total * following, index + 1
                break
            if following is None or word[0].isdigit() or word in OTHERS:
                break
            if language == "ar" and total < 10 <= following < 100:  # five and twenty
                total += following
            elif following in _LARGE and total < following and not joint:
                total *= following
            elif (
                total >= 20
                and not tokens[start][0].isdigit()  # "the 340 first quoted"
                and total % _step(total) == 0
                and following < _step(total)
            ):
                total += following
            else:
                break
            index += joint + 1
        is_round = total in _LARGE or (total == _DOZEN and tokens[index - 1] in OTHERS)
        if is_round and not HALVES.isdisjoint(tokens[max(0, start - 2) : start]):
            total /= 2  # half a million; "half twelve" is a time
        index, total = _with_half(tokens, index, total)
        yield Run(start, index, total)


def _with_half(tokens: Sequence[str], index: int, total: Decimal) -> tuple[int, Decimal]:
    """Add "and a half" behind a number; return where it ends, and what it is then."""
    behind = [token for token in tokens[index : index + 3] if token not in OTHERS]
    if len(behind) > 1 and behind[0] in JOINTS and behind[1] in HALVES:
        return tokens.index(behind[1], index) + 1, total + Decimal("0.5")
    if tokens[index : index + 1] in (["k"], ["tsd"]):
        return index + 1, total * 1000
    return index, total


def _step(total: Decimal) -> int:
    """Return what a number of words counts in: tens, hundreds, thousands."""
    return next((step for step in (1000, 100, 10) if total % step == 0), 1)


@lru_cache(maxsize=65536)
def value(word: str, language: str = "", *, is_name: bool = False) -> Decimal | None:
    """Return the number a word stands for, in digits, as a word or as an ordinal; None: none.

    Args:
        word: Folded.
        language: Of its text, `de`; by default a word of any counts.
        is_name: Whether it may be one, so that only a word of that language counts: Cem, Due.
    """
    found = _value(word, language, is_name=is_name)
    if found is None and (whole := word.removesuffix("einhalb")) != word:  # zweieinhalb
        whole_value = value(whole, language, is_name=is_name) if whole else None
        found = None if whole_value is None else whole_value + Decimal("0.5")
    if found is None and len(stem := _ORDINAL_ENDING.sub("", word)) in range(3, len(word)):
        found = value(stem, language, is_name=is_name)
    for large in ("tausend", "hundert"):  # dreihundertzwanzig
        before, joint, behind = word.partition(large)
        if found is None and joint and (before or behind):
            times, more = (value(part, "de") if part else None for part in (before, behind))
            if (times is None) == (not before) and (more is None) == (not behind):
                found = (times or Decimal(1)) * Decimal(_ANY[large]) + (more or Decimal(0))
    return found if found is not None else _compound(word, language)


def _compound(word: str, language: str) -> Decimal | None:
    """Return the number of a ten and a unit in one word: einundzwanzig, ventidue, tjugotre."""
    table = _BY_LANGUAGE.get(language, _ANY) | {"ein": 1}
    for ten, value_ in table.items():
        if value_ in _TENS and ten[:-1] in word:
            before, _, behind = word.partition(ten if ten in word else ten[:-1])
            unit = behind.removeprefix("i") if not before else before if not behind else ""
            for joint in _JOINED_BY:
                found = table.get(unit.removesuffix(joint), 10)
                if found < 10:
                    return Decimal(value_ + found)
    return None


def _value(word: str, language: str, *, is_name: bool = False) -> Decimal | None:
    """Return the number a word stands for: its digits, or what it says."""
    if digits := _DIGITS.match(word):
        plain = _THOUSANDS.sub("", digits[0]).replace(",", ".")
        if len(plain) > _MOST_DIGITS:  # a key, a cipher; decimals reckon no farther
            return None
        return Decimal(plain if plain.count(".") <= 1 else plain.replace(".", ""))
    plain = _TIMES.sub("", word)
    own = _BY_LANGUAGE.get(language, {})
    if plain in own:
        return Decimal(own[plain])
    if language and (plain in _ELSEWHERE or _HOMOGRAPHS.get(plain, language) != language):
        return None
    is_foreign = plain in _ANY and not (language and (is_name or is_own(plain, language)))
    for table in (_ANY if is_foreign else {}, ORDINALS, OTHERS, _SCALES):
        if plain in table:
            return Decimal(table[plain])
    tens, joint, unit = word.partition("-")
    table = _ANY | own
    if joint and table.get(tens) in _TENS and table.get(unit, 10) < 10:
        return Decimal(table[tens] + table[unit])
    return None


def is_own(word: str, language: str) -> bool:
    """Whether a language has a word that means a number or a time in another."""
    return words.frequency(word, language) > _INTRUDES


def is_loose(word: str, number: Decimal) -> bool:
    """Whether a word for a number is an article, an ordinal or the like, and says no amount."""
    return not word[0].isdigit() and (word in ORDINALS or word in OTHERS or number == 1)


def is_cardinal(word: str, language: str) -> bool:
    """Whether a word is one of the numbers that a language counts with."""
    return word in _BY_LANGUAGE.get(language, _ANY)


def whole(text: str) -> set[Decimal]:
    """Return the numbers that a text may be, in any language: "Mil e duzentos"."""
    tokens = [words.folded(token) for token in stop_words.WORD_PART.findall(text)]
    read = [list(runs(tokens, code, {*tokens})) for code in _BY_LANGUAGE]
    return {one.value for found in read for one in found if one.end - one.start == len(tokens)}


def is_ordinal(word: str, language: str) -> bool:
    """Whether a word that stands for a number is a form of "third"."""
    return word in ORDINALS or (
        value(word, language) is not None and _value(word, language) is None
    )
