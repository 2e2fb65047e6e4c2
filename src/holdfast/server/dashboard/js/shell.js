// The frame around every view: navigation, scope, theme, language and connection status.

import { h, icon, replace } from "./dom.js";
import { LANGUAGES, current, t } from "./i18n.js";
import * as hearing from "./live.js";
import { dialog } from "./dialogs.js";
import { names } from "./known.js";
import { scope, set, settings } from "./settings.js";
import { button, field, iconButton } from "./ui.js";

export const VIEWS = [
  ["chat", "c"],
  ["memories", "m"],
  ["people", "e"],
  ["timeline", "t"],
  ["topics", "p"],
  ["sessions", "s"],
  ["traces", "r"],
  ["jobs", "j"],
  ["apps", "a"],
  ["stats", "i"],
  ["admin", "d"],
  ["settings", ","],
];
const ON_PHONE = ["chat", "memories", "timeline", "topics"];

function item(name) {
  return h(
    "a.nav-item",
    { href: `#/${name}`, dataset: { view: name } },
    icon(name, 20),
    h("span", {}, t(`nav.${name}`)),
  );
}

function brand() {
  return h("a.brand", { href: "#/chat" }, icon("logo", 28), h("span", {}, "Holdfast"));
}

/** A button that shows the scope and opens the scope dialog. */
export function scopeButton() {
  const parts = Object.values(scope());
  return h(
    "button.scope",
    {
      type: "button",
      onclick: pickScope,
      title: t("scope.title"),
      "aria-label": `${t("scope.title")}: ${parts.join(" · ") || t("scope.shared")}`,
    },
    icon("person", 18),
    h("span", {}, parts.join(" · ") || t("scope.shared")),
  );
}

const THEMES = ["auto", "light", "dark"];
function themeButton() {
  const symbols = { auto: "auto", light: "sun", dark: "moon" };
  const next = THEMES[(THEMES.indexOf(settings.theme) + 1) % THEMES.length];
  return iconButton(
    t("theme.now", { theme: t(`theme.${settings.theme}`) }),
    symbols[settings.theme],
    () => set({ theme: next }),
    { dataset: { action: "theme" } },
  );
}

function languageButton() {
  const codes = Object.keys(LANGUAGES);
  const other = codes[(codes.indexOf(current()) + 1) % codes.length];
  return h(
    "button.icon-button.lang",
    {
      type: "button",
      lang: other,
      title: LANGUAGES[other],
      "aria-label": LANGUAGES[other],
      dataset: { action: "language" },
      onclick: () => set({ language: other }),
    },
    other.toUpperCase(),
  );
}

function pulse() {
  const node = h("span.pulse", { role: "status" });
  const show = () => {
    node.classList.toggle("on", hearing.connected && hearing.answering);
    node.classList.toggle("off", !hearing.answering);
    node.title = t(hearing.connected ? "live.on" : "live.off");
    replace(node, h("span.visually-hidden", {}, node.title));
  };
  show();
  for (const name of ["connection", "answering"])
    hearing.live.addEventListener(name, () => {
      if (node.isConnected) show();
    });
  return node;
}

/** A banner while the server does not answer. */
hearing.live.addEventListener("answering", () => {
  document.querySelector(".stopped")?.remove();
  if (!hearing.answering)
    document.body.append(h("div.stopped", { role: "alert" }, icon("warn", 18), h("span", {}, t("live.stopped"))));
});

/** Build the frame. Views are shown inside `main`. */
export function frame(main) {
  const tools = () => [themeButton(), languageButton(), iconButton(t("help.title"), "help", help)];
  return [
    h(
      "a.skip",
      {
        href: "#main",
        onclick: (event) => {
          event.preventDefault();
          main.focus();
        },
      },
      t("skip"),
    ),
    h(
      "aside.side",
      {},
      h("div.side-head", {}, brand(), pulse()),
      h(
        "nav",
        { "aria-label": t("nav.label") },
        VIEWS.map(([name]) => item(name)),
      ),
      h("div.side-foot", {}, scopeButton(), h("div.tools", {}, tools())),
    ),
    h("header.top", {}, brand(), h("div.top-tools", {}, scopeButton(), tools())),
    main,
    h(
      "nav.tabs",
      { "aria-label": t("nav.label") },
      ON_PHONE.map(item),
      h(
        "button.nav-item",
        { type: "button", onclick: more, dataset: { view: "more" } },
        icon("more", 20),
        h("span", {}, t("nav.more")),
      ),
    ),
  ];
}

function more() {
  dialog(
    t("nav.more"),
    (close) =>
      h(
        "nav.more-list",
        {},
        VIEWS.map(([name]) => name)
          .filter((name) => !ON_PHONE.includes(name))
          .map((name) => {
            const node = item(name);
            node.addEventListener("click", () => close());
            return node;
          }),
      ),
    { class: "sheet" },
  );
}

/** Show a dot next to "Jobs" while there are failed jobs. */
hearing.live.addEventListener("counts", (/** @type {any} */ { detail }) => {
  if (!detail?.jobs) return;
  for (const node of document.querySelectorAll('.nav-item[data-view="jobs"]'))
    node.classList.toggle("has-dead", detail.jobs.dead > 0);
});

/** Highlight the current view in the navigation. */
export function mark(name) {
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".nav-item[data-view]"))) {
    const here = node.dataset.view === name || (node.dataset.view === "more" && !ON_PHONE.includes(name));
    if (here) node.setAttribute("aria-current", "page");
    else node.removeAttribute("aria-current");
  }
}

function scopeInput(part) {
  return h("input", {
    type: "text",
    value: settings[part] ?? "",
    list: `known-${part}`,
    autocomplete: "off",
    placeholder: t(`scope.${part}.none`),
    "data-first": part === "user",
  });
}

/** Open the scope dialog. */
export async function pickScope() {
  const inputs = {};
  const lists = {};
  const asked = dialog(t("scope.title"), (close) => {
    const rows = ["user", "app", "agent"].map((part) => {
      lists[part] = h("datalist", { id: `known-${part}` });
      inputs[part] = scopeInput(part);
      return [
        field(t(`scope.${part}`), inputs[part], { hint: t(`scope.${part}.hint`) }),
        h("div.suggestions", { id: `suggest-${part}` }),
        lists[part],
      ];
    });
    const read = () =>
      Object.fromEntries(Object.entries(inputs).map(([part, input]) => [part, input.value.trim() || null]));
    return h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          close(read());
        },
      },
      h("p.quiet", {}, t("scope.lead")),
      rows,
      h(
        "div.actions.end",
        {},
        button(t("scope.clear"), () => close({ user: null, app: null, agent: null })),
        h("button.button.primary", { type: "submit" }, t("scope.use")),
      ),
    );
  });
  suggest(inputs, lists);
  const chosen = await asked;
  if (chosen) set(chosen);
}

async function suggest(inputs, lists) {
  try {
    const found = await names();
    for (const [part, all] of Object.entries(found)) {
      replace(
        lists[part],
        all.map((name) => h("option", { value: name })),
      );
      const box = document.getElementById(`suggest-${part}`);
      if (box)
        replace(
          box,
          all.slice(0, 8).map((name) =>
            h(
              "button.suggestion",
              {
                type: "button",
                onclick: () => {
                  inputs[part].value = name;
                },
              },
              name,
            ),
          ),
        );
    }
  } catch {
    /* the names are only suggestions */
  }
}

/** Show the keyboard shortcuts. */
export function help() {
  const rows = [
    ...VIEWS.map(([name, letter]) => [["g", letter], t(`nav.${name}`)]),
    [["/"], t("keys.search")],
    [["n"], t("keys.new")],
    [["j"], t("keys.next")],
    [["k"], t("keys.previous")],
    [["Enter"], t("keys.open")],
    [["e"], t("keys.edit")],
    [["u"], t("keys.scope")],
    [["?"], t("keys.help")],
    [["Esc"], t("keys.escape")],
  ];
  dialog(t("help.title"), () =>
    h(
      "dl.keys",
      {},
      rows.map(([keys, means]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            keys.map((key) => h("kbd", {}, key)),
          ),
          h("dd", {}, means),
        ),
      ),
    ),
  );
}
