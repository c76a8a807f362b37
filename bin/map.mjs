// `npm run map`: the sources as a tree, each with its lines and the first sentence of its header. `npm run map -- daemon/core`
// prints a part of it.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const wings = ["protocol", "daemon", "hooks", "client", "bin"];
const asked = process.argv.slice(2);

const listed = execFileSync("git", ["ls-files", "--", ...(asked.length > 0 ? asked : wings)], {
  cwd: root,
  encoding: "utf8",
});
const paths = listed.split("\n").filter(path => /\.(?:tsx?|mjs)$/.test(path));
for (const folder of new Set(paths.map(path => dirname(path)))) {
  console.log(`${folder}/`);
  for (const path of paths.filter(path => dirname(path) === folder)) {
    const text = readFileSync(join(root, path), "utf8");
    const lines = String(text.split("\n").length - 1).padStart(5);
    console.log(`${lines}  ${path.slice(folder.length + 1).padEnd(24)} ${sentenceOf(text)}`);
  }
}

/** The first sentence of the comment that a source begins with; nothing if it begins with none. */
function sentenceOf(text) {
  const [header = ""] = /^(?:\/\*\*[\s\S]*?\*\/|(?:\/\/[^\n]*\n)+)/.exec(text.replace(/^#!.*\n/, "")) ?? [];
  const words = header.replace(/^\/\*\*|\*\/\s*$|^ ?\/\/|^ \*/gm, "").replace(/\s+/g, " ");
  return /^.*?[.:](?= |$)/.exec(words.trim())?.[0].replace(/:$/, ".") ?? "";
}
