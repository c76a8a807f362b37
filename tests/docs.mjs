// Writes the tables of pages that sources make: npm run docs
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("docs.ts", import.meta.url))],
  bundle: true,
  platform: "node",
  format: "esm",
  write: false,
});
const { pagesOf } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
);

for (const { path, now, made } of pagesOf(root)) {
  if (made !== now) writeFileSync(path, made);
  console.log(`${relative(root, path)}: ${made === now ? "is as its sources say" : "written"}`);
}
