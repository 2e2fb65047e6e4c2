// Runs before the first paint: sets the theme and language, and begins to fetch what the first view will need.
(() => {
  const VIEWS = {
    admin: [],
    apps: [],
    chat: ["markdown", "parts", "views/chat-parts", "views/trace-links"],
    jobs: [],
    memories: [
      "bulk",
      "diff",
      "parts",
      "views/memory",
      "views/memory-edit",
      "views/trace-links",
      "views/memory-explain",
      "views/traces",
    ],
    people: [
      "lives",
      "markdown",
      "opening",
      "parts",
      "views/around",
      "views/person",
      "views/sessions",
      "views/trace-links",
    ],
    sessions: ["opening", "parts", "views/trace-links"],
    settings: [],
    start: ["charts", "parts", "views/admin/models", "views/stats"],
    stats: ["charts"],
    timeline: ["opening", "parts"],
    topics: ["markdown", "parts"],
    traces: ["parts", "views/trace-links"],
  };
  let saved = {};
  try {
    saved = JSON.parse(localStorage.getItem("holdfast.settings") ?? "{}") || {};
  } catch {
    /* ignore invalid settings */
  }
  const root = document.documentElement;
  if (saved.theme === "light" || saved.theme === "dark") root.dataset.theme = saved.theme;
  const known = ["en", "es"];
  const language =
    [saved.language, ...navigator.languages].map((tag) => String(tag).slice(0, 2)).find((tag) => known.includes(tag)) ??
    "en";
  root.lang = language;
  const fetchSoon = (rel, path, more = {}) =>
    document.head.append(Object.assign(document.createElement("link"), { rel, href: `./${path}`, ...more }));
  fetchSoon("preload", `i18n/${language}.json`, { as: "fetch", crossOrigin: "anonymous" });
  const view = /^#\/(\w+)/.exec(location.hash)?.[1] ?? "chat";
  for (const name of view in VIEWS ? [`views/${view}`, ...VIEWS[view]] : [])
    fetchSoon("modulepreload", `js/${name}.js`);
})();
