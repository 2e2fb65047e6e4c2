// One person: who they are, facts by area of life with their validity over time, sessions, sharing, export and erasure.

import { around } from "./around.js";
import { download, get, part, post } from "../api.js";
import { confirm, losses, showReceipt } from "../dialogs.js";
import { h, icon, replace } from "../dom.js";
import { dateTime, number, t } from "../i18n.js";
import { me, renew } from "../known.js";
import { axis, lives, timeScale } from "../lives.js";
import { markdown } from "../markdown.js";
import { memoryLink } from "../parts.js";
import { go } from "../router.js";
import { set, settings } from "../settings.js";
import { attempt, button, chip, empty, load, toast } from "../ui.js";
import { sessionRow } from "./sessions.js";

const AREAS = ["identity", "health", "family", "home", "work", "money", "plans", "rules", "preferences", "other"];
const PAGE = 200;
const SESSIONS = 10;

/** The page of a person. */
export function person(name, signal) {
  const box = h("div");
  const path = `/v1/users/${part(name)}/overview`;
  const ask = async () => {
    const [found, who, apps] = await Promise.all([
      get(path, { limit: PAGE }, signal),
      me(),
      get("/apps", {}, signal).catch(() => ({ apps: [] })), // bound keys may not list the apps
    ]);
    return { found, who, apps: apps.apps };
  };
  load(box, ask, (all) => draw(all, path, signal), { rows: 6, signal });
  return h("div.page.person", {}, h("a.crumb", { href: "#/people" }, icon("back", 16), t("nav.people")), box);
}

function draw({ found, who, apps }, path, signal) {
  if (!found.memories && !found.retired && !found.sessions)
    return [heading(found), empty(t("person.nothing.title"), t("person.nothing.body"), { name: "person" })];
  return [
    heading(found),
    section("about", about(found)),
    section("around", surroundings(found.user, signal)),
    facts(found, path, signal),
    section("sessions", sessions(found, signal)),
    section("shared", shared(found, apps)),
    section("export", exporting(found)),
    section("erase", erasing(found, who)),
  ];
}

function section(name, ...content) {
  return h("section.panel", { class: `person-${name}` }, h("h2", {}, t(`person.${name}`)), content);
}

function heading(found) {
  const use = () => {
    set({ user: found.user, app: null, agent: null });
    toast(t("person.used", { name: found.user }));
  };
  return h(
    "div.person-head",
    {},
    h("span.avatar", { "aria-hidden": "true" }, [...found.user][0].toUpperCase()),
    h(
      "div",
      {},
      h("h1", { tabindex: "-1", dir: "auto" }, found.user),
      h(
        "p.quiet",
        {},
        [
          t("people.memories", { n: found.memories }),
          t("people.sessions", { n: found.sessions }),
          found.last_at ? `${t("people.seen")} ${dateTime(found.last_at)}` : t("people.neverSeen"),
        ].join(" · "),
      ),
    ),
    found.user === settings.user
      ? chip(t("people.current"), { class: "user" })
      : button(t("person.use"), use, { name: "person", dataset: { action: "use" } }),
  );
}

/** The base document, or a paragraph of durable facts. Each fact links to its memory. */
function about({ document, durable }) {
  if (document)
    return [h("div", {}, markdown(document.text)), h("a", { href: memoryLink(document.id) }, t("person.document"))];
  if (!durable.length) return h("p.quiet", {}, t("person.noFacts"));
  return h(
    "p.portrait",
    { dir: "auto" },
    durable.map((memory) => [h("a", { href: memoryLink(memory.id) }, sentence(memory.text)), " "]),
  );
}

const sentence = (text) => (/[.!?…]["'”»)]?$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);

/** The facts by area, with a button that loads the next page. */
function facts(found, path, signal) {
  const known = [...found.facts];
  const box = h("div.areas");
  let offset = found.next_offset ?? null;
  const more = async (event) => {
    const page = await attempt(event.currentTarget, () => get(path, { limit: PAGE, offset }, signal));
    if (!page) return;
    known.push(...page.facts);
    offset = page.next_offset ?? null;
    show();
  };
  const show = () => {
    const groups = AREAS.map((area) => [area, known.filter((fact) => fact.area === area).map((fact) => fact.memory)]);
    const scale = timeScale(known.map((fact) => fact.memory));
    box.replaceChildren(
      ...(known.length ? [axis(scale)] : []),
      ...groups
        .filter(([, memories]) => memories.length)
        .map(([area, memories]) => lives(t(`area.${area}`), memories, scale)),
      ...(offset === null ? [] : [button(t("person.more"), more, { dataset: { action: "more" } })]),
    );
  };
  show();
  return section("facts", h("p.quiet", {}, t("person.factsNote")), box);
}

/** The people and places that the memories name. They are found by rules, after the rest of the page is shown. */
function surroundings(user, signal) {
  const box = h("div");
  const ask = () => get(`/v1/users/${part(user)}/around`, {}, signal);
  const show = (found) => (found.names.length ? around(user, found) : h("p.quiet", {}, t("around.none")));
  load(box, ask, show, { rows: 2, shape: "line", signal });
  return box;
}

/** The newest sessions, with a button for older ones: a list that grows by itself would push the rest of the page away. */
function sessions({ user, sessions: count }, signal) {
  if (!count) return h("p.quiet", {}, t("person.noSessions"));
  const rows = h("div.rows");
  const older = h("div");
  let offset = 0;
  const more = async () => {
    const page = await get("/v1/sessions", { user, limit: SESSIONS, offset }, signal);
    rows.append(...page.items.map((session) => sessionRow(session, signal, user)));
    offset = page.next_offset ?? null;
    const next = (event) => attempt(event.currentTarget, more);
    replace(older, offset !== null && button(t("person.moreSessions"), next, { dataset: { action: "older" } }));
  };
  attempt(null, more);
  return h("div", {}, rows, older);
}

function shared(found, apps) {
  const used = new Set(found.facts.map((fact) => fact.memory.app).filter(Boolean));
  const rows = apps.filter((app) => used.has(app.appId));
  return [
    h("p", {}, found.shared ? t("person.sharedByAll", { n: found.shared }) : t("person.sharedNothing")),
    rows.length
      ? h(
          "ul.points",
          {},
          rows.map((app) =>
            h(
              "li",
              {},
              h("b", {}, app.name || app.appId),
              " ",
              app.sharesWith?.length ? sharing(app) : t("person.appPrivate"),
            ),
          ),
        )
      : h("p.quiet", {}, t("person.noApps")),
  ];
}

const sharing = (app) =>
  t("person.appShares", {
    apps: app.sharesWith.map((name) => (name === "*" ? t("apps.everyone") : name)).join(", "),
  });

function exporting({ user }) {
  const save = (format, file) => (event) =>
    attempt(event.currentTarget, () => download("/v1/export", { user, format }, `${user}.${file}`));
  return [
    h("p", {}, t("person.exportNote")),
    h(
      "div.actions",
      {},
      button(t("person.exportJson"), save("jsonl", "jsonl"), { name: "copy", dataset: { action: "export" } }),
      button(t("person.exportText"), save("markdown", "md"), { name: "topics" }),
    ),
  ];
}

/** Erase a person. The dialog lists what will be lost, and the name must be typed. */
function erasing(found, who) {
  const name = found.user;
  const removed = [
    t("person.lose.memories", { n: found.memories + found.retired, live: found.memories, retired: found.retired }),
    t("person.lose.sessions", { n: found.sessions }),
    t("person.lose.derived"),
  ];
  const kept = t("person.lose.kept", { shared: number(found.shared) });
  const erase = async (event) => {
    const control = event.currentTarget;
    const points = await attempt(control, () => losses({ user: name }));
    if (!points) return;
    const sure = await confirm({
      title: t("settings.erase.title", { name }),
      points: [...points, kept, t("erase.point3")],
      action: t("erase.go"),
      danger: true,
      typed: name,
    });
    if (!sure) return;
    const receipt = await attempt(control, () => post("/v1/erase", { user: name }));
    if (!receipt) return;
    renew();
    await go("#/people");
    await showReceipt(receipt);
  };
  const may = who.level === "admin";
  return [
    h("p", {}, t("person.loses")),
    h(
      "ul.points",
      {},
      removed.map((each) => h("li", {}, each)),
    ),
    h("p.quiet", {}, kept),
    !may && h("p.quiet", {}, t("person.needsAdmin")),
    button(t("settings.erase.button", { name }), erase, {
      kind: "danger",
      name: "erase",
      disabled: !may,
      dataset: { action: "erase" },
    }),
  ];
}
