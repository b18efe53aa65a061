"""Which words are names in scripts that have no capitals, by what their languages' lists know.

Chinese and Japanese: a text is cut into the words of jieba's dictionary, which lies in the package
of `wordfreq` and says which of them are names, and of the Japanese list. Arabic, Hindi: a noun
or a verb has other forms of its stem, which are common too; a name has hardly any. Of other
languages without capitals nothing is known here, and no word of theirs is taken for a name: neither
of those that share a script with these (Urdu, Persian, Marathi, Nepali).
"""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache, partial

from bumble import patterns
from bumble.text import languages, stop_words, words

_HAN = r"\u3400-\u9fff\uf900-\ufaff々"
_HAN_RUN = patterns.compile(f"[{_HAN}]+")
_INFLECTED = patterns.compile(f"([{_HAN}]+)[\u3041-\u309f]{{1,2}}")
_KATAKANA = patterns.compile(r"[ァ-ヺー]{2,}")
_KANA = patterns.compile(r"[\u3041-\u30ff]")
_SPACED = patterns.compile(r"[\u0620-\u065f\u066e-\u06d3\u0900-\u0963\u0971-\u097f]{2,}")
_POINTS = patterns.compile("[\u0610-\u061a\u0640\u064b-\u0655]")
_NAMES = ("nr", "ns", "nt", "nz")  # how jieba's tags of people, places and the like begin
_JIEBAS_WORDS = 6e7  # that it counted
_LONGEST = 6  # signs of a word
_LAND = "市省县国"  # behind what is a place in truth: jieba calls the sun one, too
# Words of a language that are no names: in jieba's Chinese, in Japanese, in katakana, of one sign.
_COMMON, _COMMON_HERE, _COMMON_LOAN, _COMMON_SIGN = 3000, 6000, 2000, 1500
# The commonest words, which need no other form; of the others' share, that of their other forms.
_LEAST = {"ar": (150, 0.08), "hi": (600, 0.01)}
# Languages of one script, which `bumble.text.languages` can tell: the first has a list.
_OF_SCRIPT = {
    "ar": ("ar", "azb", "ckb", "fa", "pnb", "ps", "sd", "ug", "ur"),
    "hi": ("hi", "mr", "ne", "sa"),
}
# Japanese names end in these more than other words do: in 健一, 和子, 沢田, 軽井沢.
_NAME_ENDS = frozenset(
    "子美香奈菜恵江代郎太介輔助樹也哉斗翔平一二三雄夫男彦司志吾衣輝田沢澤山川河村本井木野原島崎橋藤浦岡倉谷宮森林塚坂松沼津浜池咲紀希絵里穂"
)
_FURTHER_SURNAMES = frozenset("张刘陈孙郑何马黄")  # which jieba has as other words alone
_AFFIX = 2  # letters before what was said that go with it: and, for, with, the
_ENDINGS = str.maketrans("ةى", "هي")  # letters that are typed for others
_ROOT = 3  # letters of most Arabic words
_HE = "ي"  # begins hardly anything but verbs
_SUBJECTS = frozenset("يتنأا")  # before an Arabic verb: who does it

# Signs that Japan simplified otherwise than China did, and China's.
_JAPANS = (
    "亜囲壱栄衛円塩応桜仮価絵拡覚楽巻観関帰気亀戯犠拠挙暁駆恵渓経蛍軽継鶏芸撃県倹剣険圏検権顕"
    "験厳広効鉱黒済砕斎剤雑桟賛糸歯児実釈収従渋獣縦粛処緒奨焼証乗剰壌嬢浄畳縄譲醸図粋酔穂髄瀬"
    "斉摂専戦銭繊捜挿巣荘騒増蔵臓続対帯滝択沢単団弾鋳庁聴勅鎮塚逓鉄転伝稲闘徳読弐脳悩廃拝売発"
    "髪抜浜仏払辺変弁舗歩豊毎満黙薬訳揺様謡頼覧欄竜両猟緑塁涙隷霊齢暦歴錬労瀧駅隠働"
)
_CHINAS = (
    "亚围壹荣卫圆盐应樱假价绘扩觉乐卷观关归气龟戏牺据举晓驱惠溪经萤轻继鸡艺击县俭剑险圈检权显"
    "验严广效矿黑济碎斋剂杂栈赞丝齿儿实释收从涩兽纵肃处绪奖烧证乘剩壤娘净叠绳让酿图粹醉穗髓濑"
    "齐摄专战钱纤搜插巢庄骚增藏脏续对带泷择泽单团弹铸厅听敕镇冢递铁转传稻斗德读贰脑恼废拜卖发"
    "发拔滨佛拂边变辩铺步丰每满默药译摇样谣赖览栏龙两猎绿垒泪隶灵龄历历炼劳泷驿隐动"
)


def strange(text: str, grounds: Sequence[str]) -> list[str]:
    """Return the words of a text that look like names and stand in none of its sources."""
    if text.isascii():
        return []
    said = "\n".join(grounds)
    language = "ja" if _KANA.search(text) else "zh"
    runs = list(_HAN_RUN.finditer(text))
    heard = said + said.translate(_simplified()) if runs else ""
    found = [
        name
        for run in runs
        for name in _han_names(run[0], language, heard)
        if not _goes_on(name + text[run.end() :])
    ]
    found += [
        run
        for run in _KATAKANA.findall(text)
        if run not in said and run not in words.common("ja", _COMMON_LOAN)
    ]
    tokens = _SPACED.findall(_pointless(text))
    told = frozenset(_SPACED.findall(_pointless(said))) if tokens else frozenset[str]()
    judged = set(filter(partial(_is_listed, text=f"{text}\n{said}"), set(map(_language, tokens))))
    found += [
        token
        for token in tokens
        if _language(token) in judged and not _is_common(token) and not _is_said(token, told)
    ]
    return list(dict.fromkeys(found))


# Chinese and Japanese


def _han_names(run: str, language: str, said: str) -> Iterator[str]:
    rest = surname = ""  # signs in a row that nobody said, and that make no word; what led to them
    for part in (*_parts(run, language), ""):
        is_new = part not in said
        if len(part) == 1 and is_new and part not in words.common(language, _COMMON_SIGN):
            rest += part
            continue
        if len(surname + rest) > 1 and surname + rest not in said:
            yield surname + rest
        rest = ""
        # jieba has some surnames as other words alone
        may_lead = part in _FURTHER_SURNAMES or _dictionary().get(part, 0) < 0
        surname = part if is_new and len(part) == 1 and may_lead else ""
        if len(part) > 1 and is_new and _is_name(part, language):
            yield part


def _goes_on(text: str) -> bool:
    """Whether a text begins with a Japanese word whose last signs are kana: 気持ち."""
    word = _INFLECTED.match(text)
    return word is not None and any(
        word[0][:end] in words.listed("ja") for end in range(word.end(1) + 1, word.end() + 1)
    )


def _is_name(part: str, language: str) -> bool:
    plain = part.translate(_simplified())
    weight = _dictionary().get(plain, 0)
    if language == "ja" and not weight and part in words.listed(language):
        return part[-1] in _NAME_ENDS and part not in words.common(language, _COMMON_HERE)
    if weight < 0 and plain in words.common("zh", _COMMON):
        return any(plain + land in _dictionary() for land in _LAND)
    return weight < 0 or not (weight or part in words.common(language, _COMMON_HERE))


@lru_cache(maxsize=4096)
def _parts(run: str, language: str) -> tuple[str, ...]:
    """Cut a run of Chinese characters into its likeliest words."""
    plain, listed = run.translate(_simplified()), words.listed(language)
    best: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
    for end in range(1, len(run) + 1):
        ways = []
        for start in range(max(0, end - _LONGEST), end):
            share = max(
                abs(_dictionary().get(plain[start:end], 0)) / _JIEBAS_WORDS,
                listed.get(run[start:end], 0.0),
            )
            if share or end - start == 1:
                score, parts = best[start]
                ways.append(
                    (score + math.log(share or 1 / _JIEBAS_WORDS), (*parts, run[start:end]))
                )
        best.append(max(ways))
    return best[-1][1]


@cache
def _dictionary() -> Mapping[str, int]:
    """Return how often jieba has each Chinese word; below zero: it is a name."""
    lines = (words.frequencies() / "jieba_zh_orig.txt").read_text(encoding="utf-8").splitlines()
    entries = (line.split(" ") for line in lines)
    return {
        word: -int(count) if tag.startswith(_NAMES) else int(count) for word, count, tag in entries
    }


@cache
def _simplified() -> Mapping[int, str]:
    """Return the simplified form of each Chinese character that has one."""
    china: dict[int, str] = words.packed("_chinese_mapping.msgpack.gz")
    return china | dict(zip(map(ord, _JAPANS), _CHINAS, strict=True))


# Arabic, Hindi


def _pointless(text: str) -> str:
    return _POINTS.sub("", unicodedata.normalize("NFC", text))


def _language(word: str) -> str:
    return "ar" if word[0] < "\u0900" else "hi"


def _is_listed(code: str, text: str) -> bool:
    """Whether what a text has of a script is in the language whose list judges it."""
    written = filter(_SPACED.search, stop_words.WORD.findall(text))
    own = " ".join(word for word in written if _language(word) == code)
    return languages.among(own, dict.fromkeys(_OF_SCRIPT[code], 1.0)) == code


def _is_said(word: str, heard: Set[str]) -> bool:
    """Whether a word was said, in another form or with what is written together with it."""
    code = _language(word)
    own = _key(word, code)
    return any(
        own == _key(one, code)
        or (len(one) > _AFFIX and word.endswith(one) and len(word) - len(one) <= _AFFIX)
        for one in heard
    )


@lru_cache(maxsize=65536)
def _is_common(word: str) -> bool:
    """Whether a word has other forms, none of which is it with one letter before it."""
    code = _language(word)
    commonest, least = _LEAST[code]
    if word[0] == _HE or words.folded(word) in words.common(code, commonest):
        return True
    key, forms, own = _key(word, code), _forms(code), _folded(word)
    others = sum(
        share
        for one in (forms if len(key) > _AFFIX else (key,))
        if one.startswith(key)
        for form, share in forms.get(one, {}).items()
        if own not in (form, form[1:])
    )
    return others >= least * words.listed(code).get(word, 0.0)


@lru_cache(maxsize=65536)
def _key(word: str, code: str) -> str:
    stem = words.stem(word, code)
    return stem[1:] if len(stem) > _ROOT and stem[0] in _SUBJECTS else stem


def _folded(word: str) -> str:
    return words.folded(word).translate(_ENDINGS)


@cache
def _forms(code: str) -> Mapping[str, Mapping[str, float]]:
    """Return the words of a language with their shares, by what their forms have in common."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for word, share in words.listed(code).items():
        if _SPACED.match(word):
            found[_key(word, code)][_folded(word)] = share
    return found
