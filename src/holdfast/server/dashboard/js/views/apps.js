// Apps: the installed apps, their memories and their sharing.

import { del, get, part, post } from "../api.js";
import { confirm, countLosses, dialog, lossPoints, splitTags } from "../dialogs.js";
import { h, icon } from "../dom.js";
import { shortDay, t } from "../i18n.js";
import { renew } from "../known.js";
import { set } from "../settings.js";
import { attempt, button, checkbox, chip, empty, field, head, iconButton, load, toast } from "../ui.js";

export function view(route, signal) {
  const box = h("div");
  const show = () =>
    load(
      box,
      () => get("/apps", {}, signal),
      ({ apps }) =>
        apps.length
          ? h(
              "div.cards",
              {},
              apps.map((app) => card(app, show)),
            )
          : empty(t("apps.empty.title"), t("apps.empty.body"), {
              name: "apps",
              actions: [button(t("apps.add"), () => install(null, show), { kind: "primary", name: "plus" })],
            }),
      { rows: 3, shape: "card", signal },
    );
  show();
  return {
    node: h(
      "div.page",
      {},
      head(
        t("nav.apps"),
        t("apps.lead"),
        button(t("apps.add"), () => install(null, show), { name: "plus", dataset: { action: "new" } }),
      ),
      box,
    ),
  };
}

function card(app, show) {
  const shares = app.sharesWith ?? [];
  const look = () => {
    set({ app: app.appId });
    location.hash = "#/memories";
  };
  return h(
    "article.card.app",
    {},
    h(
      "div.card-head",
      {},
      icon("apps", 22),
      h("h2", {}, app.name || app.appId),
      h(
        "div.actions",
        {},
        iconButton(t("apps.change"), "edit", () => install(app, show)),
        iconButton(t("apps.remove"), "erase", () => remove(app, show)),
      ),
    ),
    h(
      "p.quiet",
      {},
      h("code", {}, app.appId),
      app.installedAt && ` · ${t("apps.since", { day: shortDay(app.installedAt) })}`,
    ),
    !app.installed && h("p", {}, chip(t("apps.notInstalled"), { class: "retired" })),
    h("p", {}, t("apps.memories", { n: app.memoryCount ?? 0 })),
    h(
      "p.quiet",
      {},
      shares.length
        ? [t("apps.shares"), " ", shares.map((name) => chip(name === "*" ? t("apps.everyone") : name))]
        : t("apps.sharesNot"),
    ),
    h("div.actions", {}, button(t("apps.look"), look, { kind: "small", name: "memories" })),
  );
}

async function install(app, show) {
  const body = await dialog(app ? t("apps.change") : t("apps.add"), (close) => appForm(app, close), {
    class: "narrow",
  });
  if (!body) return;
  if (await attempt(null, () => post("/apps", body))) {
    renew();
    toast(t("saved"));
    show();
  }
}

function appForm(app, close) {
  const { id, name, shares } = appInputs(app);
  const submit = (event) => {
    event.preventDefault();
    if (!id.value.trim()) return;
    const apps = splitTags(shares.value);
    close({
      appId: id.value.trim(),
      ...(name.value.trim() && { name: name.value.trim() }),
      sharesWith: apps.includes("*") ? "all" : apps,
    });
  };
  return h(
    "form",
    { onsubmit: submit },
    field(t("apps.id"), id),
    field(t("apps.name"), name),
    field(t("apps.sharesWith"), shares, { hint: t("apps.sharesNote") }),
    h(
      "div.actions.end",
      {},
      button(t("cancel"), () => close()),
      h("button.button.primary", { type: "submit" }, t("save")),
    ),
  );
}

function appInputs(app) {
  return {
    id: h("input", {
      type: "text",
      required: true,
      value: app?.appId ?? "",
      disabled: Boolean(app),
      "data-first": !app,
      placeholder: "kitchen",
    }),
    name: h("input", {
      type: "text",
      value: app?.name ?? "",
      placeholder: t("apps.nameHint"),
      "data-first": Boolean(app),
    }),
    shares: h("input", {
      type: "text",
      value: (app?.sharesWith ?? []).join(", "),
      placeholder: t("apps.sharesHint"),
    }),
  };
}

async function remove(app, show) {
  let purge = false;
  const lost = await attempt(null, () => countLosses({ memories_of: app.appId }));
  if (!lost) return;
  const points = [...lossPoints(lost), t("erase.point3")].map((point) => h("li", {}, point));
  const losses = h("ul.points", { hidden: true }, points);
  const sure = await confirm({
    title: t("apps.remove.title", { name: app.name || app.appId }),
    points: [t("apps.remove.point1"), t("apps.remove.point2")],
    action: t("apps.remove"),
    danger: true,
    extra: lost.memories > 0 && [
      checkbox(t("apps.remove.purge", { n: lost.memories }), false, (value) => {
        purge = value;
        losses.hidden = !value;
      }),
      losses,
    ],
  });
  if (!sure) return;
  const done = await attempt(null, () => del(`/apps/${part(app.appId)}`, { purgeMemories: purge ? "true" : "" }));
  if (done) {
    renew();
    toast(t("apps.removed", { n: purge ? lost.memories : 0 }));
    show();
  }
}
