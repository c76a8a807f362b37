/**
 * What a browser gets before it has shown a code. It trades the code behind `#` for a token, keeps that in this tab
 * alone, and loads the page. It says nothing of whose page it is, because anybody on this machine may ask for it.
 */
import type { Pass } from "./store.ts";

const key = "pass";

async function enter(): Promise<void> {
  const code = location.hash.slice(1);
  if (code !== "") {
    const answer = await fetch("/token", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (answer.ok) sessionStorage.setItem(key, await answer.text());
    // A code in the history or in a bookmark is used up.
    history.replaceState(null, "", location.pathname + location.search);
  }
  const stored = sessionStorage.getItem(key);
  if (stored === null) return refuse();
  const pass: Pass = JSON.parse(stored);
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = `/${pass.folder}/page.css`;
  document.head.append(style);
  const page = await pageOf(pass);
  if (page !== null) return page.start(pass);
  sessionStorage.removeItem(key);
  refuse();
}

/** Returns the page's program. Null: the server of this token has ended, and another one does not have its folder. */
async function pageOf({ folder }: Pass): Promise<typeof import("./main.tsx") | null> {
  try {
    return await import(`/${folder}/page.js`);
  } catch {
    return null;
  }
}

function refuse(): void {
  const page = document.getElementById("page");
  if (page !== null)
    page.textContent =
      "This address was used, or is too old. The program that printed it prints another one.";
}

await enter();
