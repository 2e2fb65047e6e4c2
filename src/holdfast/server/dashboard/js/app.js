// Entry point: loads translations, draws the frame, and handles routes and shortcuts.

import { get, redactions, unreachable } from "./api.js";
import { h, replace } from "./dom.js";
import { addWords, loadServerTexts, loadWords, t } from "./i18n.js";
import { me, renew } from "./known.js";
import { answering, connect, live } from "./live.js";
import { parse, go } from "./router.js";
import { applyTheme, changed, useDefaultUser } from "./settings.js";
import { VIEWS, frame, help, mark, pickScope } from "./shell.js";
import { problem, skeleton, toast } from "./ui.js";
import { record } from "./samples.js";

const main = h("main.main", { id: "main", tabindex: "-1" });
/** @type {any} */
let shown = null;

const modules = {
  chat: () => import("./views/chat.js"),
  memories: () => import("./views/memories.js"),
  people: () => import("./views/people.js"),
  timeline: () => import("./views/timeline.js"),
  topics: () => import("./views/topics.js"),
  sessions: () => import("./views/sessions.js"),
  traces: () => import("./views/traces.js"),
  jobs: () => import("./views/jobs.js"),
  apps: () => import("./views/apps.js"),
  stats: () => import("./views/stats.js"),
  admin: () => withWords(import("./views/admin.js")),
  settings: () => import("./views/settings.js"),
  start: () => withWords(import("./views/start.js")),
};

/** A view with translations of its own. */
async function withWords(view) {
  await Promise.all([addWords("admin"), loadServerTexts()]);
  return view;
}

/** Show the view for the URL hash. The current view can handle a new hash itself. */
async function show({ reload = false } = {}) {
  const route = parse();
  if (!(route.name in modules)) {
    go("#/chat");
    return;
  }
  if (!reload && shown?.name === route.name && shown.view?.update?.(route)) return;
  shown?.stop.abort();
  const stop = new AbortController();
  const moved = shown !== null && shown.name !== route.name;
  shown = { name: route.name, stop, view: null, failed: false };
  mark(route.name);
  document.title = `${t(`nav.${route.name}`)} · Holdfast`;
  const bones = setTimeout(() => replace(main, h("div.page", {}, skeleton(4))), 250);
  stop.signal.addEventListener("abort", () => clearTimeout(bones)); // the next view may be shown before this file arrives
  try {
    const { view } = await modules[route.name]();
    clearTimeout(bones);
    if (stop.signal.aborted) return;
    const made = view(route, stop.signal);
    shown.view = made;
    main.className = `main view-${route.name}`;
    replace(main, made.node);
    made.ready?.();
    if (moved) {
      window.scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  } catch (error) {
    clearTimeout(bones);
    if (stop.signal.aborted) return;
    // A view whose file cannot be fetched fails with a TypeError without a code: the server is gone.
    const reason = error instanceof TypeError && /import|module|fetch/i.test(error.message) ? unreachable() : error;
    if (reason === error) console.error(error);
    shown.failed = true;
    replace(
      main,
      h(
        "div.page",
        {},
        problem(reason, () => show({ reload: true })),
      ),
    );
  }
}

/** Use the server's default user, unless a scope was chosen or the key may not know it. */
async function findUser() {
  try {
    useDefaultUser((await me()).default_user);
  } catch {
    useDefaultUser(null); // the view shows why the server does not answer
  }
}

const root = /** @type {HTMLElement} */ (document.getElementById("app"));

async function draw() {
  const view = modules[parse().name]?.().catch(() => {}); // `show` reports a failure
  await Promise.all([loadWords(), findUser(), welcome(), view]);
  replace(root, frame(main));
  await show({ reload: true });
  loadServerTexts().catch(() => {}); // the texts of the server then stay in English
}

changed.addEventListener("change", (/** @type {any} */ { detail }) => {
  if (detail.includes("theme")) {
    applyTheme();
    replace(root, frame(main));
    mark(parse().name);
  }
  if (detail.includes("key")) {
    renew();
    connect();
  }
  if (["language", "user", "app", "agent", "key"].some((name) => detail.includes(name))) draw();
});

let leader = 0;
/** Handle shortcuts unless a field has the focus. `g` and a letter opens a view. */
function shortcut(event) {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (
    event.defaultPrevented ||
    typing ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector("dialog[open]")
  )
    return;
  const view = VIEWS.find(([, letter]) => letter === event.key);
  if (Date.now() - leader < 1200 && view) {
    leader = 0;
    event.preventDefault();
    go(`#/${view[0]}`);
    return;
  }
  leader = event.key === "g" ? Date.now() : 0;
  const act = {
    "?": help,
    "/": focusSearch,
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => onRow() && step(1),
    ArrowUp: () => onRow() && step(-1),
    n: () => press("new"),
    e: () => press("edit"),
    u: pickScope,
  }[event.key];
  if (act && act() !== false) event.preventDefault();
}

const onRow = () => Boolean(document.activeElement?.closest("[data-row]"));
function press(action) {
  /** @type {HTMLElement | null} */
  const found = main.querySelector(`[data-action="${action}"]`);
  if (!found) return false;
  found.click();
  return true;
}
function focusSearch() {
  /** @type {HTMLInputElement | null} */
  const found = main.querySelector("[data-search]");
  if (!found) {
    go("#/memories");
    return;
  }
  found.focus();
  found.select?.();
}
function step(by) {
  const rows = /** @type {HTMLElement[]} */ ([...main.querySelectorAll("[data-row]")]);
  if (!rows.length) return false;
  const at = rows.findIndex((row) => row === document.activeElement?.closest("[data-row]"));
  rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by))].focus();
  return true;
}

document.addEventListener("keydown", shortcut);
window.addEventListener("hashchange", () => show());
live.addEventListener("change", record);
live.addEventListener("answering", () => {
  if (answering && (shown?.failed || main.querySelector(".problem[data-code=unreachable]"))) show({ reload: true });
});
redactions.addEventListener("redacted", (/** @type {any} */ { detail }) => {
  toast(t("redacted", { secrets: detail.map(({ kind, field }) => `${kind} (${field})`).join(", ") }), { seconds: 12 });
});

/** Open the first steps if nothing is stored yet and no view was asked for. */
async function welcome() {
  if (location.hash) return;
  try {
    if ((await get("/v1/setup")).empty) history.replaceState(null, "", "#/start");
  } catch {
    /* the chat shows why the server does not answer, or the key may not know */
  }
}

applyTheme();
connect(); // before the views fetch their data, so that no change in between is missed
await draw();
record();
setInterval(() => {
  if (!document.hidden) record();
}, 10000);
