// Health: what each check found, problems first, with the remedy.

import { get } from "../../api.js";
import { h, icon } from "../../dom.js";
import { named, t } from "../../i18n.js";
import { button, load, serverText } from "../../ui.js";

export function section(signal) {
  const box = h("div");
  const check = (deep) =>
    load(
      box,
      () => get("/v1/doctor", { deep }, signal),
      (report) => draw(report, () => check(true)),
      { signal },
    );
  check(false);
  return box;
}

function draw(report, again) {
  const bad = report.items.filter((item) => !item.ok);
  return [
    h(
      "p.verdict",
      { class: report.ok ? "good" : "bad", role: "status" },
      icon(report.ok ? "check" : "warn", 20),
      h("span", {}, report.ok ? t("health.ok") : t("health.bad", { n: bad.length })),
    ),
    h("ul.checks", {}, report.items.map(row)),
    h("div.actions", {}, button(t("health.deep"), again, { name: "again", dataset: { action: "deep" } })),
    h("p.quiet", {}, t("health.deepNote")),
  ];
}

function row(item) {
  return h(
    "li.check-row",
    { class: item.ok ? "" : "is-bad" },
    icon(item.ok ? "check" : "warn", 18),
    h(
      "div",
      {},
      h("b", {}, named("check", item.check)),
      h("span.visually-hidden", {}, `: ${t(item.ok ? "health.passed" : "health.failed")}`),
      h("p", {}, serverText(item.detail, item.detail_code)),
      item.remedy && !item.ok && h("p.remedy", {}, t("health.remedy"), " ", serverText(item.remedy, item.remedy_code)),
      item.check.includes("job") && !item.ok && h("a", { href: "#/jobs?state=dead" }, t("health.jobs")),
    ),
  );
}
