// Shared UI components: buttons, chips, fields, toasts, empty states and error messages.

import { freshId, h, icon, replace } from "./dom.js";
import { ago, current, dateTime, fromCode, has, loadServerTexts, named, t } from "./i18n.js";

/**
 * A button. `kind` is "primary", "danger", "quiet" or empty.
 * @param {string} label
 * @param {(event: any) => unknown} onclick
 * @param {{kind?: string, name?: string | null, [attribute: string]: any}} options
 */
export function button(label, onclick, { kind = "", name = null, ...rest } = {}) {
  return h(
    "button.button",
    { type: "button", class: kind, onclick, ...rest },
    name && icon(name),
    h("span", {}, label),
  );
}

/** An icon button. Screen readers and the tooltip show its label. */
export function iconButton(label, name, onclick, rest = {}) {
  return h("button.icon-button", { type: "button", "aria-label": label, title: label, onclick, ...rest }, icon(name));
}

/**
 * A link that looks like a button.
 * @param {string} label
 * @param {string} href
 * @param {{name?: string | null, class?: string}} options
 */
export function link(label, href, { name = null, class: more = "" } = {}) {
  return h("a.button", { href, class: more }, name && icon(name), h("span", {}, label));
}

/** A relative time with the full time as its tooltip. */
export function when(value, { full = false } = {}) {
  if (!value) return null;
  return h("time", { datetime: value, title: dateTime(value) }, full ? dateTime(value) : ago(value));
}

const PALETTE = {
  fact: 1,
  decision: 2,
  event: 3,
  context: 4,
  summary: 5,
  profile: 6,
  memory: 1,
  conclusion: 2,
  conversation: 7,
  recent: 5,
  base: 6,
  message: 7,
};
/** The color number of a kind, 1 to 8. Custom kinds get a stable color too. */
export function tint(kind) {
  if (kind in PALETTE) return PALETTE[kind];
  let sum = 0;
  for (const letter of String(kind)) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 997;
  return 1 + (sum % 8);
}

export function kindChip(kind) {
  return h("span.kind", { class: `tint-${tint(kind)}` }, h("span.dot"), named("kind", kind));
}

export const chip = (text, more = {}) => h("span.chip", more, text);

/**
 * An input with a label.
 * @param {string} label
 * @param {HTMLElement} input
 * @param {{hint?: import("./dom.js").Child, class?: string}} options
 */
export function field(label, input, { hint = null, class: more = "" } = {}) {
  const id = input.id || freshId("field");
  input.id = id;
  const note = hint && h("small.hint", { id: `${id}-hint` }, hint);
  if (note) input.setAttribute("aria-describedby", note.id);
  return h("div.field", { class: more }, h("label", { for: id }, label), input, note);
}

export function select(options, value, onchange, more = {}) {
  return h(
    "select",
    { onchange: (event) => onchange(event.target.value), ...more },
    options.map(([option, label]) => h("option", { value: option, selected: option === value }, label)),
  );
}

export function checkbox(label, checked, onchange) {
  return h(
    "label.check",
    {},
    h("input", { type: "checkbox", checked, onchange: (event) => onchange(event.target.checked) }),
    h("span", {}, label),
  );
}

/** A segmented control: one of several options is selected. */
export function segmented(label, options, value, onchange) {
  const name = freshId("choice");
  return h(
    "fieldset.segmented",
    {},
    h("legend.visually-hidden", {}, label),
    options.map(([option, text, symbol]) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name, value: option, checked: option === value, onchange: () => onchange(option) }),
        h("span", {}, symbol && icon(symbol, 16), text),
      ),
    ),
  );
}

/** Gray placeholders that are shown while data loads. */
export function skeleton(rows = 4, shape = "row") {
  return h(
    "div.skeleton",
    { role: "status", "aria-busy": "true", "aria-label": t("loading") },
    Array.from({ length: rows }, () => h(`div.bone.${shape}`)),
  );
}

/**
 * An empty state: what the page is for, and how to fill it.
 * @param {string} title
 * @param {import("./dom.js").Child} body
 * @param {{name?: string, actions?: import("./dom.js").Child[], code?: string | null}} options
 */
export function empty(title, body, { name = "spark", actions = [], code = null } = {}) {
  return h(
    "div.empty",
    {},
    h("div.empty-icon", {}, icon(name, 28)),
    h("h2", {}, title),
    h("p", {}, body),
    code && h("pre.command", {}, code),
    actions.length > 0 && h("div.actions", {}, actions),
  );
}

/** A text with the parts between backticks marked as code. */
export const coded = (text) =>
  String(text)
    .split("`")
    .map((part, index) => (index % 2 ? h("code", {}, part) : part));

/**
 * A text of the server in the selected language. A text without a translation is marked as English.
 * @param {string} text
 * @param {any} code the code and values that came with the text
 */
export function serverText(text, code) {
  const node = h("span", { dir: "auto" });
  const fill = () => {
    const found = fromCode(code);
    replace(node, coded(found ?? text));
    if (found === null && current() !== "en") node.lang = "en";
    else node.removeAttribute("lang");
  };
  fill();
  if (node.lang && code) loadServerTexts().then(fill, () => {});
  return node;
}

/**
 * What the server says about an error. In other languages than English, a text without a translation is folded.
 * @param {any} error
 */
function detailOf(error) {
  if (!error.detail || error.detailCode?.code === "key.needed") return null; // the title says the same
  if (current() === "en" || error.detailCode)
    return h("p.problem-detail", {}, serverText(error.detail, error.detailCode));
  return original(error.detail);
}

/** A text of the server that exists in English only. In other languages it is folded. */
export function original(text) {
  if (current() === "en") return h("span", {}, text);
  return h("details.original", {}, h("summary", {}, t("problem.original")), h("p", { lang: "en", dir: "auto" }, text));
}

/**
 * An error message: a translated title, the server's detail, and what to do.
 * @param {any} error
 * @param {(() => unknown) | null} retry
 */
export function problem(error, retry = null) {
  const code = error.code ?? "unexpected";
  const title = has(`problem.${code}.title`) ? t(`problem.${code}.title`) : t("problem.unexpected.title");
  const remedy = remedyOf(error, code);
  const goes = code === "unauthorized" || code === "forbidden";
  return h(
    "div.problem",
    { role: "alert", dataset: { code } },
    icon("warn", 20),
    h(
      "div",
      {},
      h("h3", {}, title),
      detailOf(error),
      h("p", {}, remedy),
      h(
        "div.actions",
        {},
        goes && link(t("problem.openSettings"), "#/settings", { name: "key" }),
        retry && button(t("again"), retry, { name: "again" }),
      ),
      h("small.code", {}, `${error.status || ""} ${code}`.trim()),
    ),
  );
}

const remedyOf = (error, code) =>
  has(`problem.${code}.do`)
    ? t(`problem.${code}.do`, { wait: error.body?.retryAfter ?? "?" })
    : t("problem.unexpected.do");

/** The last call of `load` for each box. @type {WeakMap<HTMLElement, object>} */
const loads = new WeakMap();
/**
 * Load data into a box: a placeholder first, then the result or an error message. A later call for the same box replaces this one.
 * @template F
 * @param {HTMLElement} box
 * @param {() => Promise<F>} work
 * @param {(found: F) => import("./dom.js").Child} draw
 * @param {{rows?: number, shape?: string, signal?: AbortSignal | null}} options
 */
export async function load(box, work, draw, { rows = 4, shape = "row", signal = null } = {}) {
  const own = {};
  loads.set(box, own);
  const isOver = () => signal?.aborted || loads.get(box) !== own;
  const bones = setTimeout(() => isOver() || replace(box, skeleton(rows, shape)), box.childElementCount ? 250 : 0);
  try {
    const found = await work();
    clearTimeout(bones);
    if (!isOver()) replace(box, draw(found));
  } catch (error) {
    clearTimeout(bones);
    if (error.name === "AbortError" || isOver()) return;
    if (!error.code) console.error(error);
    replace(
      box,
      problem(error, () => load(box, work, draw, { rows, shape, signal })),
    );
  }
}

/** @type {HTMLElement | null} */
let shelf = null;
/**
 * Show a short notification, with an optional action.
 * @param {string} text
 * @param {{action?: string | null, onaction?: (() => unknown) | null, bad?: boolean, seconds?: number}} options
 */
export function toast(text, { action = null, onaction = null, bad = false, seconds = 7 } = {}) {
  shelf ??= document.body.appendChild(h("div.toasts", { role: "status", "aria-live": "polite" }));
  const node = h("div.toast", { class: bad ? "bad" : "" }, icon(bad ? "warn" : "check"), h("span", {}, text));
  const close = () => {
    node.classList.add("leaving");
    setTimeout(() => node.remove(), 200);
  };
  if (action)
    node.append(
      h(
        "button.toast-action",
        {
          type: "button",
          onclick: () => {
            close();
            onaction?.();
          },
        },
        action,
      ),
    );
  node.append(iconButton(t("close"), "close", close));
  shelf.append(node);
  while (shelf.childElementCount > 3) shelf.firstElementChild?.remove();
  setTimeout(close, seconds * 1000);
}

/** Show an error as a notification. */
export function failed(error) {
  if (error.name === "AbortError") return;
  if (!error.code) console.error(error);
  const code = error.code ?? "unexpected";
  const title = has(`problem.${code}.title`) ? t(`problem.${code}.title`) : t("problem.unexpected.title");
  const detail = current() === "en" ? error.detail : (fromCode(error.detailCode) ?? remedyOf(error, code));
  toast(detail ? `${title}: ${detail}` : title, { bad: true, seconds: 12 });
}

/**
 * Run the action of a button. The button is disabled meanwhile, and a failure is shown.
 * @template F
 * @param {any} control
 * @param {() => Promise<F>} work
 * @returns {Promise<F | undefined>}
 */
export async function attempt(control, work) {
  if (control) control.disabled = true;
  try {
    return await work();
  } catch (error) {
    failed(error);
    return undefined;
  } finally {
    if (control) control.disabled = false;
  }
}

const CHUNK = 10;
/** Rows in groups. The browser skips a group that is out of sight, which is cheaper than to skip each of its rows. */
function chunks(rows) {
  return Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, index) =>
    h("div.chunk", {}, rows.slice(index * CHUNK, (index + 1) * CHUNK)),
  );
}

/** A list that loads more as its end becomes visible. `fetchPage(offset)` returns {items, next_offset}. */
export function endless(fetchPage, drawItem, { signal, whenEmpty, rows = 5, list = h("div.rows") }) {
  const end = h("div.list-end");
  const box = h("div.endless", {}, list, end);
  let offset = 0;
  let busy = false;
  async function more() {
    if (busy || offset === null || signal.aborted) return;
    busy = true;
    if (!list.childElementCount) replace(end, skeleton(rows));
    try {
      const page = await fetchPage(offset);
      if (signal.aborted) return;
      list.append(...chunks(page.items.map(drawItem).filter(Boolean)));
      offset = page.next_offset ?? null;
      replace(end, !list.childElementCount && offset === null ? whenEmpty() : null);
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      if (!error.code) console.error(error);
      replace(
        end,
        problem(error, () => {
          replace(end);
          more();
        }),
      );
      return;
    } finally {
      busy = false;
    }
    if (end.getBoundingClientRect().top < window.innerHeight + 300 && end.isConnected) more();
  }
  whenNear(end, more, signal, "400px");
  more();
  return box;
}

/** Call `work` whenever a node scrolls to within `margin` of the visible area. */
export function whenNear(node, work, signal, margin) {
  const watcher = new IntersectionObserver(
    (seen) => {
      if (seen.some((entry) => entry.isIntersecting)) work();
    },
    { rootMargin: margin },
  );
  watcher.observe(node);
  signal.addEventListener("abort", () => watcher.disconnect());
}

/** Copy a text to the clipboard and show a notification. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("copied"));
  } catch {
    toast(t("copy.failed"), { bad: true });
  }
}

/** A bar for a value from 0 to 1. */
export function meter(value, label) {
  const share = Math.max(0, Math.min(1, Number(value) || 0));
  return h(
    "span.meter",
    { role: "img", "aria-label": label },
    h("span.meter-fill", { style: { width: `${(share * 100).toFixed(1)}%` } }),
  );
}

/** The heading of a view, with its actions. */
export function head(title, lead, ...actions) {
  return h(
    "header.view-head",
    {},
    h("div", {}, h("h1", { tabindex: "-1" }, title), lead && h("p.lead", {}, lead)),
    actions.filter(Boolean).length > 0 && h("div.actions", {}, actions),
  );
}
