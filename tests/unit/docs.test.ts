/** Pages whose tables sources make are as the sources say; `npm run docs` writes them. */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { pagesOf } from "../docs.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = pagesOf(root);

it.each(pages.map(page => [relative(root, page.path), page] as const))("%s is not stale", (_, page) => {
  expect(page.now, "npm run docs").toBe(page.made);
});

describe("protocol/WIRE.md", () => {
  it("says what the words of its table mean", () => {
    const [ids, paths] = [limits.idBytes, limits.pathBytes].map(max => max.toLocaleString("en"));
    const text = pages[0]?.now;
    expect(text).toContain(`An \`id\` is text of 1 to ${ids} characters`);
    expect(text).toContain(`a \`path\` text of 1 to ${paths}`);
  });
});
