// Access keys: list, create and revoke. The secret of a new key is shown once.

import { del, get, part, post } from "../../api.js";
import { confirm, dialog } from "../../dialogs.js";
import { h } from "../../dom.js";
import { dateTime, named, t } from "../../i18n.js";
import { me } from "../../known.js";
import { setKey } from "../../settings.js";
import { attempt, button, chip, copy, empty, field, load, select, toast, when } from "../../ui.js";

const PARTS = ["user", "app", "agent"];

export function section(signal) {
  const box = h("div");
  const read = () => Promise.all([get("/v1/keys", {}, signal), me()]);
  const fill = () => load(box, read, ([keys, who]) => draw(keys.items, who, fill), { signal });
  fill();
  return box;
}

function draw(keys, who, fill) {
  const active = (key) => !key.revoked_at && !isOver(key);
  const sorted = [...keys].sort(
    (a, b) => Number(active(b)) - Number(active(a)) || b.created_at.localeCompare(a.created_at),
  );
  return [
    who.keyless && h("p.note-box", {}, t("keys.first")),
    h("details.panel-box", { open: !keys.length }, h("summary", {}, t("keys.create")), form(who, fill)),
    keys.length
      ? h(
          "div.rows",
          {},
          sorted.map((key) => row(key, fill)),
        )
      : empty(t("keys.none.title"), t("keys.none.body"), { name: "key" }),
  ];
}

const isOver = (key) => Boolean(key.expires_at) && new Date(key.expires_at) < new Date();

function row(key, fill) {
  const bound = PARTS.filter((each) => key[each]).map((each) => `${t(`scope.${each}`)}: ${key[each]}`);
  const state = key.revoked_at ? "revoked" : isOver(key) ? "expired" : null;
  return h(
    "div.row.admin-row",
    { class: state ? "is-off" : "", dataset: { id: key.id } },
    h(
      "div",
      {},
      h("b", { dir: "auto" }, key.label || key.id),
      h(
        "div.marks",
        {},
        chip(named("level", key.scope)),
        bound.map((text) => chip(text)),
        state && chip(t(`keys.${state}`), { class: "retired" }),
        h("span", {}, t("keys.made"), " ", when(key.created_at)),
        h("span", {}, key.last_used_at ? [t("keys.used"), " ", when(key.last_used_at)] : t("keys.unused")),
        key.expires_at && !state && h("span", {}, t("keys.expires", { when: dateTime(key.expires_at) })),
      ),
    ),
    !state &&
      button(t("keys.revoke"), (event) => revoke(event.currentTarget, key, fill), {
        kind: "small danger-text",
        dataset: { action: "revoke" },
      }),
  );
}

async function revoke(control, key, fill) {
  const sure = await confirm({
    title: t("keys.revoke.title", { name: key.label || key.id }),
    points: [t("keys.revoke.point1"), t("keys.revoke.point2")],
    action: t("keys.revoke"),
    danger: true,
  });
  if (!sure) return;
  const gone = await attempt(control, () => del(`/v1/keys/${part(key.id)}`));
  if (!gone) return;
  toast(t("keys.revoke.done"));
  fill();
}

function form(who, fill) {
  const state = { scope: who.keyless ? "admin" : "read" };
  const text = (more = {}) => h("input", { type: "text", autocomplete: "off", ...more });
  const inputs = { label: text({ placeholder: t("keys.labelHint") }), user: text(), app: text(), agent: text() };
  const expires = h("input", { type: "date" });
  const level = select(
    ["read", "write", "admin"].map((name) => [name, named("level", name)]),
    state.scope,
    (value) => {
      state.scope = value;
    },
  );
  const submit = h("button.button.primary", { type: "submit", dataset: { action: "create" } }, t("keys.create"));
  const send = async () => {
    const given = Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]);
    const made = await post("/v1/keys", {
      scope: state.scope,
      ...Object.fromEntries(given.filter(([, value]) => value)),
      ...(expires.value && { expires_at: new Date(`${expires.value}T23:59:59`).toISOString() }),
    });
    if (who.keyless) setKey(made.key);
    else fill();
    await showKey(made, who.keyless);
  };
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        attempt(submit, send);
      },
    },
    h(
      "div.grid-2",
      {},
      field(t("keys.label"), inputs.label),
      field(t("keys.level"), level),
      PARTS.map((each) => field(t("keys.only", { part: t(`scope.${each}`) }), inputs[each])),
      field(t("keys.until"), expires),
    ),
    h("p.quiet", {}, t("keys.boundNote")),
    h("div.actions", {}, submit),
  );
}

/** Show a new key. It cannot be shown again. */
function showKey(made, used) {
  return dialog(t("keys.made.title"), (close) => [
    h("p", {}, t("keys.made.once")),
    h("pre.command.secret", { tabindex: "0" }, made.key),
    used && h("p.quiet", {}, t("keys.made.used")),
    h(
      "div.actions.end",
      {},
      button(t("keys.copy"), () => copy(made.key), { name: "copy", "data-first": true }),
      button(t("done"), () => close(), { kind: "primary" }),
    ),
  ]);
}
