// The user's choices. Theme, language and scope are kept in this browser, the access key only in this tab.

const PLACE = "holdfast.settings";
const KEY_PLACE = "holdfast.key";
const SCOPE = ["user", "app", "agent"];
const defaults = { theme: "auto", language: null, user: null, app: null, agent: null, scopeChosen: false };

function load() {
  try {
    return { ...defaults, ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") };
  } catch {
    return { ...defaults };
  }
}

export const settings = load();
export const changed = new EventTarget();

let isDefaultUser = false;

/** Use the server's default user until a scope is chosen. It is not stored, because the server's default can change. */
export function useDefaultUser(name) {
  if (isDefaultUser) settings.user = null;
  isDefaultUser = !settings.scopeChosen && !SCOPE.some((part) => settings[part]) && Boolean(name);
  if (isDefaultUser) settings.user = name;
}

/** Change settings. Dispatches a `changed` event with their names. */
export function set(values) {
  Object.assign(settings, values);
  if (SCOPE.some((part) => part in values)) {
    settings.scopeChosen = true;
    isDefaultUser = false;
  }
  try {
    localStorage.setItem(PLACE, JSON.stringify({ ...settings, user: isDefaultUser ? null : settings.user }));
  } catch {
    /* private windows may block storage */
  }
  changed.dispatchEvent(new CustomEvent("change", { detail: Object.keys(values) }));
}

/** The selected scope, without empty parts. */
export function scope() {
  const { user, app, agent } = settings;
  return Object.fromEntries(Object.entries({ user, app, agent }).filter(([, name]) => name));
}

export function key() {
  try {
    return sessionStorage.getItem(KEY_PLACE);
  } catch {
    return null;
  }
}

export function setKey(value) {
  if (value) sessionStorage.setItem(KEY_PLACE, value);
  else sessionStorage.removeItem(KEY_PLACE);
  changed.dispatchEvent(new CustomEvent("change", { detail: ["key"] }));
}

/** Apply the theme. `auto` follows the system. */
export function applyTheme() {
  const root = document.documentElement;
  if (settings.theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = settings.theme;
}
