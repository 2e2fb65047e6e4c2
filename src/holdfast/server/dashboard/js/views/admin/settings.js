// Settings of the server: the preset, and each setting with its value, its origin and its meaning. They are read-only here.

import { get } from "../../api.js";
import { h, replace } from "../../dom.js";
import { current, number, t } from "../../i18n.js";
import { chip, coded, load, segmented } from "../../ui.js";

export function section(signal) {
  const box = h("div");
  const ask = async () => {
    const [found, help] = await Promise.all([get("/v1/settings", {}, signal), translatedHelp()]);
    return { ...found, items: found.items.map((item) => ({ ...item, help: help[item.name] ?? item.help })) };
  };
  load(box, ask, draw, { signal });
  return box;
}

/** The help texts in the selected language. The server has them in English. */
async function translatedHelp() {
  if (current() === "en") return {};
  const response = await fetch(new URL(`../../../i18n/help/${current()}.json`, import.meta.url));
  return response.ok ? response.json() : {};
}

function draw(found) {
  const list = h("div.rows");
  const state = { wanted: "", changed: "all" };
  const show = () => {
    const fits = (item) =>
      (state.changed === "all" || !["default", "preset"].includes(item.origin)) &&
      `${item.name} ${item.help}`.toLowerCase().includes(state.wanted);
    const rows = found.items.filter(fits);
    replace(list, rows.length ? rows.map(row) : h("p.quiet.count", {}, t("config.nothing")));
  };
  const search = h("input", {
    type: "search",
    placeholder: t("config.search"),
    "aria-label": t("config.search"),
    "data-search": true,
    oninput: (event) => {
      state.wanted = event.target.value.trim().toLowerCase();
      show();
    },
  });
  const which = ["all", "changed"].map((name) => [name, t(`config.${name}`)]);
  show();
  return [
    presets(found),
    h("p.note-box", {}, t("config.how")),
    h(
      "div.config-tools",
      {},
      search,
      segmented(t("config.which"), which, state.changed, (value) => {
        state.changed = value;
        show();
      }),
    ),
    list,
  ];
}

function presets(found) {
  const others = found.presets.filter((name) => name !== found.preset);
  return h(
    "div.panel-box",
    {},
    h("p", {}, t("config.preset"), " ", h("b", {}, found.preset)),
    h("p", {}, t(`preset.${found.preset}`)),
    h(
      "details",
      {},
      h("summary", {}, t("config.others")),
      h(
        "dl.presets",
        {},
        others.map((name) => h("div", {}, h("dt", {}, h("code", {}, name)), h("dd", {}, t(`preset.${name}`)))),
      ),
    ),
  );
}

function row(item) {
  return h(
    "div.row.setting-row",
    { dataset: { name: item.name } },
    h(
      "div.setting-head",
      {},
      h("code", {}, item.name),
      h("b", { dir: "auto" }, shown(item.value)),
      chip(t(`config.from.${item.origin}`), { class: ["default", "preset"].includes(item.origin) ? "" : "origin-set" }),
      item.place && h("code.quiet", {}, item.place),
    ),
    h("p.quiet", {}, readable(item.help)),
    item.variable &&
      item.place !== item.variable &&
      h("small.quiet", {}, t("config.set"), " ", h("code", {}, item.variable)),
  );
}

function shown(value) {
  if (value === null) return t("config.unset");
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  return typeof value === "number" ? number(value, { maximumFractionDigits: 3, useGrouping: value >= 100000 }) : value;
}

/** Help text with its code marked. Links become their text. */
function readable(text) {
  return coded(text.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1"));
}
