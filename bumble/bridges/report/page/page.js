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
    items: [...section.querySelectorAll(".item")].map((element) => ({
      element,
      kind: element.dataset.kind,
      people: (element.dataset.people || "").split("\n"),
      day: element.dataset.day || "",
      isTimeline: section.classList.contains("timeline"),
      words: null,
    })),
  })).filter((part) => part.items.length);
  const items = parts.flatMap((part) => part.items);
  const groups = [...document.querySelectorAll(".chunk")].reverse(); // the inner ones first
  const counts = new Map(); // how many items of each are shown
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  const fits = (item, wanted) => {
    if (item.isTimeline && !wanted.kinds.has(item.kind)) return false;
    if (wanted.person && !item.people.includes(wanted.person)) return false;
    if (item.day && ((wanted.from && item.day < wanted.from) || (wanted.to && item.day > wanted.to))) return false;
    if (!wanted.words.length) return true;
    if (item.words === null) item.words = plain(item.element.textContent);
    return wanted.words.every((word) => item.words.includes(word));
  };

  // 3. Filtering, a slice at a time; a newer question ends an older one.
  let run = 0;
  const pause = () => new Promise((done) => setTimeout(done));
  const each = async (list, work) => {
    const mine = run;
    let begun = performance.now();
    for (const one of list) {
      work(one);
      if (performance.now() - begun > SLICE_MS) {
        await pause();
        if (mine !== run) return false;
        begun = performance.now();
      }
    }
    return true;
  };
  const size = (group) => {
    const shown = (child) => counts.get(child) ?? (child.matches(".item") && !child.hidden);
    const count = [...group.children].reduce((sum, child) => sum + Number(shown(child)), 0);
    counts.set(group, count);
    group.hidden = count === 0;
    group.style.containIntrinsicSize = `auto ${count * ITEM_PX}px`;
  };
  const apply = async () => {
    run += 1;
    const wanted = {
      words: plain(fields.words.value).split(/\s+/).filter(Boolean),
      person: fields.person.value, from: fields.from.value, to: fields.to.value,
      kinds: new Set(kinds.filter((box) => box.checked).map((box) => box.value)),
    };
    const isWhole = await each(items, (item) => { item.fits = fits(item, wanted); })
      && await each(items, ({ element, fits: isIn }) => { if (element.hidden === isIn) element.hidden = !isIn; })
      && await each(groups, size);
    if (!isWhole) return;
    const isAll = kinds.every((box) => box.checked) && !wanted.words.length && !wanted.person && !wanted.from && !wanted.to;
    const found = parts.map((part) => [part.name, part.items.filter((item) => item.fits).length, part.items.length]);
    status.textContent = isAll ? "" : found.map(([name, count, of]) => `${name}: ${count.toLocaleString("en")} of ${of.toLocaleString("en")}`).join(" · ");
  };
  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(apply, 120); });
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  groups.forEach(size);
  form.hidden = false;

  // 4. What is folded away opens on a click, or once the browser finds something in it.
  // A `details` for each would be a style sheet for each, which Chromium looks through at every frame.
  const fold = (button, isOpen) => {
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) button.nextElementSibling.removeAttribute("hidden");
    else button.nextElementSibling.setAttribute("hidden", "until-found");
  };
  for (const button of document.querySelectorAll(".fold")) fold(button, false);
  addEventListener("click", ({ target }) => {
    if (target.matches(".fold")) fold(target, target.getAttribute("aria-expanded") !== "true");
  });
  addEventListener("beforematch", ({ target }) => fold(target.previousElementSibling, true));

  // 5. A link leads to what a filter hides, or what is folded away, all the same.
  const arrive = () => {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = id && byId(id);
    if (!target) return;
    for (let place = target; place && place !== document.body; place = place.parentElement) {
      place.hidden = false;
      if (place.previousElementSibling?.matches(".fold")) fold(place.previousElementSibling, true);
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  arrive();
})();
