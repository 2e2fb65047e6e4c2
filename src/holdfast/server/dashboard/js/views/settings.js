// Settings: access key, scope, user, appearance and erasure.

import { get, part, post, put } from "../api.js";
import { confirm, losses, showReceipt } from "../dialogs.js";
import { h } from "../dom.js";
import { LANGUAGES, current, named, t } from "../i18n.js";
import { me, renew } from "../known.js";
import { key, scope, set, setKey, settings } from "../settings.js";
import { help, pickScope } from "../shell.js";
import { attempt, button, field, head, load, segmented, select, toast } from "../ui.js";

export function view(route, signal) {
  return {
    node: h(
      "div.page.narrow-page",
      {},
      head(t("nav.settings"), null),
      section("access", access(signal)),
      section("scope", scopes()),
      person(signal),
      section("look", look()),
      section("about", about(signal)),
      danger(),
    ),
  };
}

const section = (name, ...content) => h("section.panel", {}, h("h2", {}, t(`settings.${name}`)), content);

function access(signal) {
  const state = h("div");
  const status = (who) => t("settings.keyed", { level: named("level", who.scope ?? who.level ?? "") });
  load(state, me, (who) => h("p.good", {}, who.keyless ? t("settings.keyless") : status(who)), {
    rows: 1,
    shape: "line",
    signal,
  });
  return [state, keyForm()];
}

function keyForm() {
  const input = h("input", {
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    value: key() ?? "",
    placeholder: "hf_…",
  });
  const submit = (event) => {
    event.preventDefault();
    setKey(input.value.trim() || null);
    toast(t(input.value.trim() ? "settings.keyKept" : "settings.keyGone"));
  };
  return h(
    "form.inline-form",
    { onsubmit: submit },
    field(t("settings.key"), input, { hint: t("settings.keyHint") }),
    h(
      "div.actions",
      {},
      h("button.button.primary", { type: "submit" }, t("settings.keyUse")),
      key() && button(t("settings.keyForget"), () => setKey(null)),
    ),
  );
}

function scopes() {
  const parts = ["user", "app", "agent"].map((part_) =>
    h(
      "div",
      {},
      h("dt", {}, t(`scope.${part_}`)),
      h("dd", {}, scope()[part_] ?? h("span.quiet", {}, t(`scope.${part_}.none`))),
    ),
  );
  return [
    h("p.quiet", {}, t("scope.lead")),
    h("dl.facts", {}, parts),
    button(t("scope.pick"), pickScope, { name: "person" }),
  ];
}

function person(signal) {
  const { user } = scope();
  if (!user) return null;
  const box = h("div");
  const read = () => get(`/v1/users/${part(user)}`, {}, signal);
  load(box, read, (profile) => profileForm(user, profile), { rows: 2, shape: "line", signal });
  return h("section.panel", {}, h("h2", {}, t("settings.person", { user })), box);
}

function profileForm(user, profile) {
  const zones = Intl.supportedValuesOf?.("timeZone") ?? [];
  const zone = h("input", { type: "text", list: "zones", value: profile.timezone ?? "UTC" });
  let language = profile.language ?? "";
  const save = h("button.button", { type: "submit" }, t("save"));
  const send = async () => {
    await put(`/v1/users/${part(user)}`, { timezone: zone.value.trim(), ...(language && { language }) });
    toast(t("saved"));
  };
  const submit = (event) => {
    event.preventDefault();
    attempt(save, send);
  };
  const other = language && !(language in LANGUAGES) ? [[language, language]] : [];
  const languages = select([["", t("settings.notSet")], ...Object.entries(LANGUAGES), ...other], language, (value) => {
    language = value;
  });
  return h(
    "form",
    { onsubmit: submit },
    h(
      "div.grid-2",
      {},
      field(t("settings.timezone"), zone, { hint: t("settings.timezoneHint") }),
      field(t("settings.userLanguage"), languages),
    ),
    h(
      "datalist",
      { id: "zones" },
      zones.map((each) => h("option", { value: each })),
    ),
    h("div.actions", {}, save),
  );
}

function look() {
  return h(
    "div.grid-2",
    {},
    h(
      "div.field",
      {},
      h("span.label", {}, t("settings.theme")),
      segmented(
        t("settings.theme"),
        [
          ["auto", t("theme.auto"), "auto"],
          ["light", t("theme.light"), "sun"],
          ["dark", t("theme.dark"), "moon"],
        ],
        settings.theme,
        (theme) => set({ theme }),
      ),
    ),
    h(
      "div.field",
      {},
      h("span.label", {}, t("settings.language")),
      segmented(t("settings.language"), Object.entries(LANGUAGES), current(), (language) => set({ language })),
    ),
  );
}

function about(signal) {
  const box = h("div");
  load(
    box,
    me,
    (who) =>
      h(
        "dl.facts",
        {},
        [
          ["version", who.version],
          ["preset", who.preset],
          ["tenant", who.tenant],
        ]
          .filter(([, value]) => value)
          .map(([name, value]) => h("div", {}, h("dt", {}, t(`settings.${name}`)), h("dd", {}, value))),
      ),
    { rows: 2, shape: "line", signal },
  );
  return [h("p", {}, t("settings.aboutText")), box, button(t("help.title"), help, { name: "help" })];
}

/** Erase all data of a user or an app. The name must be typed to confirm. */
function danger() {
  const parts = Object.entries(scope());
  if (!parts.length) return null;
  const what = parts.map(([, name]) => name).join(" · ");
  const go = async (event) => {
    const control = event.currentTarget;
    const points = await attempt(control, () => losses(scope()));
    if (!points) return;
    const sure = await confirm({
      title: t("settings.erase.title", { name: what }),
      points: [...points, t("erase.point3")],
      action: t("erase.go"),
      danger: true,
      typed: parts[0][1],
    });
    if (!sure) return;
    const receipt = await attempt(control, () => post("/v1/erase", scope()));
    if (!receipt) return;
    renew();
    await showReceipt(receipt);
    set({ user: null, app: null, agent: null });
  };
  return h(
    "section.panel.danger-zone",
    {},
    h("h2", {}, t("settings.erase")),
    h("p", {}, t("settings.erase.body", { name: what })),
    button(t("settings.erase.button", { name: what }), go, { kind: "danger", name: "erase" }),
  );
}
