// Hash routes: #/memories/mem_1?q=tea is {name: "memories", parts: ["mem_1"], query: {q: "tea"}}.

export function parse(hash = location.hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path
    .split("/")
    .filter(Boolean)
    .map((each) => {
      try {
        return decodeURIComponent(each);
      } catch {
        return each;
      }
    });
  return { name: parts[0] ?? "chat", parts: parts.slice(1), query: Object.fromEntries(new URLSearchParams(search)) };
}

/**
 * @param {{name: string, parts?: string[], query?: Record<string, any>}} route
 */
export function format({ name, parts = [], query = {} }) {
  const kept = Object.entries(query).filter(([, value]) => value);
  const search = new URLSearchParams(kept).toString();
  return `#/${[name, ...parts].map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/** Navigate to a hash. The promise resolves when the URL has changed. */
export function go(route) {
  const wanted = typeof route === "string" ? route : format(route);
  if (location.hash === wanted) return Promise.resolve();
  return new Promise((done) => {
    window.addEventListener("hashchange", done, { once: true });
    location.hash = wanted;
  });
}

/** Replace the URL without a history entry. */
export function rewrite(route) {
  history.replaceState(null, "", format(route));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
