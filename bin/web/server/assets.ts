/** The page's files, as the build made them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dist } from "../../program-paths.ts";
import type { Asset, Site } from "./http.ts";

const script = "text/javascript; charset=utf-8";

/** Reads the files once. Throws a system error if the build lacks one. */
export function pageFiles(): Pick<Site, "door" | "assets"> {
  return {
    door: { page: file("web-door.html", "text/html; charset=utf-8"), program: file("web-door.js", script) },
    assets: new Map([
      ["page.js", file("web-page.js", script)],
      // What a snapshot needs, too.
      ["web-views.js", file("web-views.js", script)],
      ["page.css", file("web-page.css", "text/css; charset=utf-8")],
    ]),
  };
}

function file(name: string, type: string): Asset {
  return { type, body: readFileSync(join(dist, name)) };
}
