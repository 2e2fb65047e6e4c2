// Sets the theme and language before the first paint, so that the page does not flicker.
(() => {
  let saved = {};
  try {
    saved = JSON.parse(localStorage.getItem("holdfast.settings") ?? "{}") || {};
  } catch {
    /* ignore invalid settings */
  }
  if (saved.theme === "light" || saved.theme === "dark") document.documentElement.dataset.theme = saved.theme;
  if (saved.language === "en" || saved.language === "es") document.documentElement.lang = saved.language;
})();
