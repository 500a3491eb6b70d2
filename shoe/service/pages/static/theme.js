// Colour scheme: the last choice in this browser, else the scheme of the system. Runs before the page is painted.
{
  const root = document.documentElement;
  const apply = (scheme) => { root.style.colorScheme = scheme ?? ""; };
  const kept = () => { try { return localStorage.getItem("scheme"); } catch { return null; } };
  apply(kept());
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      const dark = root.style.colorScheme
        ? root.style.colorScheme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      apply(dark ? "light" : "dark");
      try { localStorage.setItem("scheme", root.style.colorScheme); } catch { /* no storage: the choice applies to this page only */ }
    });
    document.addEventListener("keydown", ({ key }) => {
      const menu = key === "Escape" && document.querySelector(".menu[open]");
      if (!menu) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.hidden = !navigator.clipboard;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        button.textContent = "copied";
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      });
    }
  });
}
