// Sets the chosen theme and language before the first paint, so that nothing flashes.
(() => {
  let saved = {};
  try {
    saved = JSON.parse(localStorage.getItem("holdfast.settings")) || {};
  } catch {
    /* a broken setting is no setting */
  }
  if (saved.theme === "light" || saved.theme === "dark") document.documentElement.dataset.theme = saved.theme;
  if (saved.language === "en" || saved.language === "es") document.documentElement.lang = saved.language;
})();
