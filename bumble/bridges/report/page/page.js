"use strict";
// Finds, filters, switches the theme. The page is whole without it.
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const form = byId("ui-find");
  const status = byId("ui-status");
  const fields = { words: byId("ui-words"), person: byId("ui-person"), from: byId("ui-from"), to: byId("ui-to") };
  const kinds = [...form.querySelectorAll("input[name=kind]")];
  const SLICE_MS = 10; // of work before the page may draw and answer again
  const ITEM_PX = 220; // an item's height before it is drawn, roughly

  // 1. Light and dark: as the system has it, until somebody chooses.
  const theme = byId("ui-theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  dark.addEventListener("change", showTheme);
  showTheme();
  theme.hidden = false;

  // 2. What can be found: each item, its part of the page, its words once they are asked for.
  const parts = [...document.querySelectorAll("main > section")].map((section) => ({
    name: section.querySelector("h2").textContent,
    isTimeline: section.classList.contains("timeline"),
    items: [...section.querySelectorAll(".item")].map((element) => ({
      element,
      kind: element.dataset.kind,
      people: (element.dataset.people || "").split("\n"),
      day: element.dataset.day || "",
      words: null,
    })),
  })).filter((part) => part.items.length);
  const items = parts.flatMap((part) => part.items.map((item) => ({ part, item })));
  const groups = [...document.querySelectorAll(".chunk, .day")].map((element) => ({
    element, items: [...element.querySelectorAll(".item")],
  }));
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  const fits = (item, wanted, isTimeline) => {
    if (isTimeline && !wanted.kinds.has(item.kind)) return false;
    if (wanted.person && !item.people.includes(wanted.person)) return false;
    if (item.day && ((wanted.from && item.day < wanted.from) || (wanted.to && item.day > wanted.to))) return false;
    if (!wanted.words.length) return true;
    if (item.words === null) item.words = plain(item.element.textContent);
    return wanted.words.every((word) => item.words.includes(word));
  };

  // 3. Filtering, a slice at a time; a newer question ends an older one.
  let run = 0;
  const pause = () => new Promise((done) => setTimeout(done));
  const apply = async () => {
    const mine = ++run;
    const wanted = {
      words: plain(fields.words.value).split(/\s+/).filter(Boolean),
      person: fields.person.value, from: fields.from.value, to: fields.to.value,
      kinds: new Set(kinds.filter((box) => box.checked).map((box) => box.value)),
    };
    const counts = new Map(parts.map((part) => [part, 0]));
    const verdicts = new Array(items.length);
    let begun = performance.now();
    for (let n = 0; n < items.length; n += 1) {
      const { part, item } = items[n];
      verdicts[n] = fits(item, wanted, part.isTimeline);
      if (verdicts[n]) counts.set(part, counts.get(part) + 1);
      if (n % 50 === 0 && performance.now() - begun > SLICE_MS) {
        await pause();
        if (mine !== run) return;
        begun = performance.now();
      }
    }
    items.forEach(({ item }, n) => { if (item.element.hidden === verdicts[n]) item.element.hidden = !verdicts[n]; });
    size();
    const isAll = kinds.every((box) => box.checked) && !wanted.words.length && !wanted.person && !wanted.from && !wanted.to;
    const whole = [...counts].map(([part, count]) => `${part.name}: ${count.toLocaleString("en")} of ${part.items.length.toLocaleString("en")}`);
    status.textContent = isAll ? "" : whole.join(" · ");
  };
  const size = () => {
    for (const { element, items: inner } of groups) {
      const count = inner.filter((item) => !item.hidden).length;
      element.hidden = count === 0;
      if (element.classList.contains("chunk")) element.style.containIntrinsicSize = `auto ${count * ITEM_PX}px`;
    }
  };
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(apply, 120); });
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  size();
  form.hidden = false;

  // 4. A link leads to what a filter hides, or what is folded away, all the same.
  const arrive = () => {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = id && byId(id);
    if (!target) return;
    for (let place = target; place && place !== document.body; place = place.parentElement) {
      place.hidden = false;
      if (place.tagName === "DETAILS") place.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  arrive();

  // 5. On paper nothing is folded away.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    for (const element of folded) element.open = true;
  });
  addEventListener("afterprint", () => { for (const element of folded) element.open = false; });
})();
