// Administration: one page per section. A section whose calls the key may not make says so.

import { h, replace } from "../dom.js";
import { t } from "../i18n.js";
import { head, problem, skeleton } from "../ui.js";

const SECTIONS = {
  health: () => import("./admin/health.js"),
  keys: () => import("./admin/keys.js"),
  models: () => import("./admin/models.js"),
  settings: () => import("./admin/settings.js"),
  data: () => import("./admin/data.js"),
  backups: () => import("./admin/backups.js"),
  proposals: () => import("./admin/proposals.js"),
};

export function view(route, signal) {
  const chosen = route.parts[0] in SECTIONS ? route.parts[0] : "health";
  const box = h("div.admin-section", {}, skeleton(3));
  fill(box, chosen, signal);
  return { node: h("div.page", {}, head(t("nav.admin"), t(`admin.${chosen}.lead`)), sections(chosen), box) };
}

function sections(chosen) {
  return h(
    "nav.subnav",
    { "aria-label": t("nav.admin") },
    Object.keys(SECTIONS).map((name) =>
      h(
        "a",
        { href: `#/admin/${name}`, "aria-current": name === chosen ? "page" : null, dataset: { section: name } },
        t(`admin.${name}`),
      ),
    ),
    h("a", { href: "#/jobs" }, t("nav.jobs")),
  );
}

async function fill(box, name, signal) {
  try {
    const { section } = await SECTIONS[name]();
    if (!signal.aborted) replace(box, section(signal));
  } catch (error) {
    if (signal.aborted) return;
    console.error(error);
    replace(
      box,
      problem(error, () => fill(box, name, signal)),
    );
  }
}
