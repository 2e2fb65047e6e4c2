// People: a list with search and counts, and the page of one person.

import { get } from "../api.js";
import { h, icon } from "../dom.js";
import { dateTime, t } from "../i18n.js";
import { me } from "../known.js";
import { format, go, rewrite } from "../router.js";
import { settings } from "../settings.js";
import { chip, empty, endless, head, link, when } from "../ui.js";
import { person } from "./person.js";

const personLink = (name) => format({ name: "people", parts: [name] });

export function view(route, signal) {
  return route.parts[0] ? { node: person(route.parts[0], signal) } : overview(route, signal);
}

function overview(route, signal) {
  const state = { list: h("div"), query: route.query.q ?? "", stop: null, signal };
  const node = h("div.page", {}, head(t("nav.people"), t("people.lead")), searchBox(state), state.list);
  const update = (next) => {
    if (next.parts[0]) return false;
    if ((next.query.q ?? "") !== state.query) {
      state.query = next.query.q ?? "";
      fill(state);
    }
    return true;
  };
  fill(state);
  toOwnPage(signal);
  return { node, update };
}

/** A key that is bound to a user may not list the others: it goes to the page of its user. */
async function toOwnPage(signal) {
  try {
    const { user } = await me();
    if (user && !signal.aborted) go(personLink(user));
  } catch {
    /* the list shows the error */
  }
}

function searchBox(state) {
  const input = h("input", {
    type: "search",
    placeholder: t("people.search"),
    "aria-label": t("people.search"),
    value: state.query,
    "data-search": true,
    enterkeyhint: "search",
  });
  let wait = 0;
  const search = () => rewrite({ name: "people", query: { q: input.value.trim() } });
  input.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(search, 250);
  });
  const submit = (event) => {
    event.preventDefault();
    clearTimeout(wait);
    search();
  };
  return h("form.search.people-search", { role: "search", onsubmit: submit }, icon("search"), input);
}

function fill(state) {
  state.stop?.abort();
  const stop = (state.stop = new AbortController());
  state.signal.addEventListener("abort", () => stop.abort());
  const { query } = state;
  const ask = (offset) => get("/v1/users", { q: query, limit: 50, offset }, stop.signal);
  state.list.replaceChildren(endless(ask, row, { signal: stop.signal, whenEmpty: () => nobody(query) }));
}

function row(found) {
  return h(
    "a.row.person-row",
    { href: personLink(found.user), "data-row": true },
    h("span.avatar", { "aria-hidden": "true" }, [...found.user][0].toUpperCase()),
    h(
      "span.person-name",
      {},
      h("b", { dir: "auto" }, found.user),
      found.user === settings.user && chip(t("people.current"), { class: "user" }),
    ),
    h(
      "span.person-counts",
      {},
      t("people.memories", { n: found.memories }),
      " · ",
      t("people.sessions", { n: found.sessions }),
    ),
    h(
      "span.person-seen",
      {},
      found.last_at
        ? [t("people.seen"), " ", h("span", { title: dateTime(found.last_at) }, when(found.last_at))]
        : t("people.neverSeen"),
    ),
  );
}

function nobody(query) {
  if (query) return empty(t("people.none.title"), t("people.none.body", { name: query }), { name: "search" });
  return empty(t("people.empty.title"), t("people.empty.body"), {
    name: "person",
    actions: [link(t("memories.empty.chat"), "#/chat", { name: "chat" })],
  });
}
