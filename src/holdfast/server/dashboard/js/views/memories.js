// Memories: a list with search and filters, next to the selected memory.

import { getHere, postHere } from "../api.js";
import { selection } from "../bulk.js";
import { newMemory } from "../dialogs.js";
import { h, icon, replace } from "../dom.js";
import { named, number, t } from "../i18n.js";
import { kinds, topics } from "../known.js";
import { live } from "../live.js";
import { hitCard, marks, memoryLink, memoryRow, notices, reasons } from "../parts.js";
import { format, go, rewrite } from "../router.js";
import { record } from "../samples.js";
import { scope } from "../settings.js";
import { pickScope } from "../shell.js";
import { attempt, button, checkbox, empty, endless, field, head, link, load, meter, select, toast } from "../ui.js";
import { memoryDetail } from "./memory.js";

const FILTERS = ["q", "kind", "topic", "app", "user", "retired", "as_of"];

export function view(route, signal) {
  const state = { route, signal, chosen: null };
  const list = h("div.list");
  state.bulk = selection({
    changed: () => fillList(state, { quiet: true }),
    shown: () => list.querySelectorAll(".picked"),
  });
  const detail = h("section.detail", { "aria-label": t("memory.detail") });
  const filters = h("div.filters");
  const node = h(
    "div.split",
    {},
    h(
      "section.master",
      {},
      head(
        t("nav.memories"),
        null,
        button(t("bulk.select"), () => state.bulk.toggle(), { name: "check", dataset: { action: "select" } }),
        button(t("remember.open"), () => remember(state), {
          kind: "primary",
          name: "plus",
          dataset: { action: "new" },
        }),
      ),
      searchBox(state),
      filters,
      state.bulk.bar,
      list,
    ),
    detail,
  );
  Object.assign(state, { list, detail, node, filters });
  const update = (next) => {
    state.route = next;
    if (state.search && document.activeElement !== state.search) state.search.value = next.query.q ?? "";
    show(state);
    return true;
  };
  drawFilters(state);
  show(state);
  live.addEventListener("change", () => renewList(state), { signal });
  return { node, update };
}

function searchBox(state) {
  const input = h("input", {
    type: "search",
    placeholder: t("memories.search"),
    "aria-label": t("memories.search"),
    value: state.route.query.q ?? "",
    "data-search": true,
    enterkeyhint: "search",
  });
  let wait = 0;
  const set = () => setFilter(state, "q", input.value.trim());
  input.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(set, 350);
  });
  state.search = input;
  return h(
    "form.search",
    {
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        clearTimeout(wait);
        set();
      },
    },
    icon("search"),
    input,
  );
}

function setFilter(state, name, value) {
  const query = { ...state.route.query, [name]: value };
  rewrite({ ...state.route, query });
}

async function drawFilters(state) {
  replace(state.filters, filterControls(state, [], []));
  try {
    const [known, pages] = await Promise.all([kinds(), topics()]);
    if (!state.signal.aborted) replace(state.filters, filterControls(state, known, pages));
  } catch {
    /* the list shows the error */
  }
}

function filterControls(state, known, pages) {
  const choose = (name, options) => {
    const set = (value) => setFilter(state, name, value);
    const label = t(`filter.${name}`);
    return select([["", label], ...options], state.route.query[name] ?? "", set, { "aria-label": label });
  };
  return [
    choose(
      "kind",
      known.map((kind) => [kind.name, named("kind", kind.name)]),
    ),
    choose(
      "topic",
      pages.map((page) => [page.topic, page.title ?? page.topic]),
    ),
    moreFilters(state),
  ];
}

function moreFilters(state) {
  const { query } = state.route;
  const set = (name) => (event) => setFilter(state, name, event.target.value.trim());
  const text = (name) =>
    h("input", {
      type: "text",
      value: query[name] ?? "",
      placeholder: scope()[name] ?? t(`scope.${name}.none`),
      onchange: set(name),
    });
  const retired = (value) => setFilter(state, "retired", value ? "true" : "");
  return h(
    "details.more-filters",
    { open: Boolean(query.app || query.user || query.retired || query.as_of) },
    h("summary", {}, t("filter.more")),
    h(
      "div.grid-2",
      {},
      field(t("scope.user"), text("user")),
      field(t("scope.app"), text("app")),
      field(t("filter.asOf"), h("input", { type: "date", value: query.as_of ?? "", onchange: set("as_of") })),
      checkbox(t("filter.retired"), query.retired === "true", retired),
    ),
  );
}

/** Show what the URL says: a new list if the filters changed, and the detail if another memory was selected. */
function show(state) {
  const { query, parts } = state.route;
  const wanted = JSON.stringify(FILTERS.map((name) => query[name] ?? ""));
  if (wanted !== state.wanted) {
    state.wanted = wanted;
    fillList(state);
  }
  state.node.classList.toggle("has-detail", Boolean(parts[0]));
  if ((parts[0] ?? "") !== state.chosen) {
    state.chosen = parts[0] ?? "";
    state.stopDetail?.abort();
    if (parts[0]) {
      state.stopDetail = new AbortController();
      state.signal.addEventListener("abort", () => state.stopDetail.abort());
      memoryDetail(state.detail, parts[0], {
        signal: state.stopDetail.signal,
        back: format({ name: "memories", query }),
        changed: () => fillList(state, { quiet: true }),
      });
      state.detail.scrollTop = 0;
    } else replace(state.detail, h("div.nothing-chosen", {}, icon("memories", 32), h("p", {}, t("memories.choose"))));
  }
  mark(state);
}

function mark(state) {
  for (const row of state.list.querySelectorAll("[data-id]")) {
    if (row.dataset.id === state.chosen) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

function parameters(query) {
  return { ...(query.user && { user: query.user }), ...(query.app && { app: query.app }) };
}

const asOf = (query) => (query.as_of ? new Date(`${query.as_of}T23:59:59`).toISOString() : undefined);
const href = (state, id) => format({ name: "memories", parts: [id], query: state.route.query });

function fillList(state, { quiet = false } = {}) {
  const { query } = state.route;
  state.stopList?.abort();
  const stop = (state.stopList = new AbortController());
  state.signal.addEventListener("abort", () => stop.abort());
  state.filters.classList.toggle("searching", Boolean(query.q));
  state.list.classList.toggle("selecting", state.bulk.isOn);
  if (query.q) {
    const ask = () => search(query, stop.signal);
    load(state.list, ask, (found) => [notices(found), drawHits(state, found.hits)], { signal: stop.signal });
    return;
  }
  const count = h("p.count.quiet", { "aria-live": "polite" });
  const ask = async (offset) => {
    const page = await listed(query, offset, stop.signal);
    if (page.total !== undefined && page.total !== null) replace(count, t("memories.count", { n: page.total }));
    return page;
  };
  const made = [
    count,
    endless(ask, (memory) => row(state, memory), { signal: stop.signal, whenEmpty: () => nothing(state) }),
  ];
  if (quiet && state.list.childElementCount) keepHeight(state.list);
  replace(state.list, made);
}

function search(query, signal) {
  const body = {
    ...parameters(query),
    query: query.q,
    limit: 30,
    ...(query.kind && { kinds: [query.kind] }),
    ...(asOf(query) && { as_of: asOf(query) }),
  };
  return postHere("/v1/recall", body, signal);
}

function listed(query, offset, signal) {
  const { kind, topic, retired } = query;
  const filters = { kind, topic, retired, as_of: asOf(query), limit: 50, offset };
  return getHere("/v1/memories", { ...parameters(query), ...filters }, signal);
}

/** Keep the height of the list while it is redrawn, so that the page does not jump. */
function keepHeight(list) {
  list.style.setProperty("min-height", `${list.offsetHeight}px`);
  setTimeout(() => list.style.removeProperty("min-height"), 1500);
}

/** Add memories that were created elsewhere on top, without moving the reader's position. */
async function renewList(state) {
  const { query } = state.route;
  if (query.q || query.retired || query.as_of || document.hidden) return;
  const rows = state.list.querySelector(".rows");
  if (!rows) return;
  try {
    const page = await getHere(
      "/v1/memories",
      { ...parameters(query), kind: query.kind, topic: query.topic, limit: 20 },
      state.signal,
    );
    const drawn = /** @type {NodeListOf<HTMLElement>} */ (
      rows.querySelectorAll(":scope > [data-id], :scope > .chunk > [data-id]")
    );
    const known = new Map([...drawn].map((node) => [node.dataset.id, node]));
    const unseen = page.items.filter((memory) => !known.has(memory.id));
    if (unseen.length && !known.size) {
      fillList(state, { quiet: true });
      return;
    }
    for (const memory of unseen.reverse()) {
      const node = row(state, memory);
      node.classList.add("is-new");
      rows.prepend(node);
    }
    for (const memory of page.items)
      known.get(memory.id)?.replaceWith(keepFocus(known.get(memory.id), row(state, memory)));
    if (page.total !== undefined && page.total !== null)
      replace(state.list.querySelector(".count"), t("memories.count", { n: page.total }));
  } catch {
    /* the next change event tries again */
  }
}

function keepFocus(old, made) {
  if (old === document.activeElement) requestAnimationFrame(() => made.focus({ preventScroll: true }));
  return made;
}

function row(state, memory) {
  const made = memoryRow(memory, { href: href(state, memory.id), chosen: memory.id === state.chosen });
  return state.bulk.wrap(memory, made);
}

function drawHits(state, hits) {
  const { query } = state.route;
  const shown = query.topic ? hits.filter((hit) => hit.memory?.topic === query.topic) : hits;
  if (!shown.length) return empty(t("memories.none.title"), t("memories.none.search"), { name: "search" });
  const strong = shown.filter(isStrong);
  const weak = shown.filter((hit) => !isStrong(hit));
  const list = (hits) =>
    h(
      "div.rows.hits",
      {},
      hits.map((hit) => hitRow(state, hit)),
    );
  return [
    h(
      "p.count.quiet",
      { "aria-live": "polite" },
      strong.length ? t("memories.found", { n: strong.length }) : t("memories.noneFits"),
    ),
    strong.length > 0 && list(strong),
    weak.length > 0 &&
      h(
        "details.weak-hits",
        { open: !strong.length },
        h("summary", {}, t("memories.weak", { n: weak.length })),
        list(weak),
      ),
  ];
}

/** A hit counts if it is relevant, as in every other interface. Weaker matches are in a list of their own. */
const isStrong = (hit) => hit.relevant !== false;

function hitRow(state, hit) {
  if (!hit.memory) return hitCard(hit, { open: false });
  const card = h(
    "div.hit-row",
    {},
    h(
      "a.row.memory-row",
      {
        href: href(state, hit.id),
        "data-row": true,
        dataset: { id: hit.id },
        "aria-current": hit.id === state.chosen ? "true" : null,
      },
      h("span.memory-text", { dir: "auto" }, hit.text),
      marks(
        hit.memory,
        h(
          "span.total",
          { title: t("why.total") },
          meter(hit.score, t("why.total")),
          h("b", {}, number(hit.score, { minimumFractionDigits: 2, maximumFractionDigits: 2 })),
        ),
      ),
    ),
    h("details.why", {}, h("summary", {}, t("why.title")), reasons(hit)),
  );
  return state.bulk.wrap({ id: hit.id, text: hit.text }, card);
}

function nothing(state) {
  const { query } = state.route;
  if (FILTERS.some((name) => query[name])) {
    return empty(t("memories.none.title"), t("memories.none.filter"), {
      name: "search",
      actions: [
        button(t("filter.clear"), () => {
          if (state.search) state.search.value = "";
          rewrite({ name: "memories" });
          drawFilters(state);
        }),
      ],
    });
  }
  const box = h("div");
  load(box, record, (stats) => (stats?.memories > 0 ? elsewhere(stats.memories) : unused(state)), {
    rows: 1,
    signal: state.signal,
  });
  return box;
}

/** No memory of the scope exists, but others do. */
function elsewhere(n) {
  const names = Object.values(scope()).join(" · ");
  const title = names ? t("memories.elsewhere.titleOf", { name: names }) : t("memories.elsewhere.title");
  return empty(title, t("memories.elsewhere.body", { n }), {
    name: "person",
    actions: [button(t("scope.pick"), pickScope, { kind: "primary", name: "person" })],
  });
}

/** No memory exists at all. */
function unused(state) {
  return empty(t("memories.empty.title"), t("memories.empty.body"), {
    name: "memories",
    code: 'holdfast remember "I moved to Lyon"',
    actions: [
      link(t("memories.empty.chat"), "#/chat", { name: "chat" }),
      button(t("remember.open"), () => remember(state), { name: "plus" }),
    ],
  });
}

async function remember(state) {
  const [known, pages] = await Promise.all([kinds().catch(() => []), topics()]);
  const body = await newMemory(known, pages, { topic: state.route.query.topic, kind: state.route.query.kind });
  if (!body) return;
  const made = await attempt(null, () => postHere("/v1/memories", body));
  if (!made) return;
  toast(t("remember.done"));
  fillList(state, { quiet: true });
  go(memoryLink(made.id));
}
