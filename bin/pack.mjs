// Makes the package that people install: npm run package [-- FOLDER]. It contains the built programs with the packages they
// use, so that installing it downloads, compiles and builds nothing.

import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleInto } from "./bundle.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Returns package.json without what only a clone needs. Every package that runs is in the bundles. */
function metadata() {
  const whole = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { name, version, description, license, type, engines, bin } = whole;
  return { name, version, description, license, type, engines, bin, man: ["./kite.1"] };
}

/** Returns the licences of the bundled packages, each with its text, as those licences demand. */
function licences(files) {
  const packages = [...new Set(Object.values(files).flatMap(file => file.packages))].sort();
  return packages.map(name => `${name}\n\n${licenceOf(name)}`).join(`\n\n${"-".repeat(80)}\n\n`);
}

function licenceOf(name) {
  const folder = join(root, "node_modules", name);
  const file = readdirSync(folder).find(one => /^licen[cs]e/i.test(one));
  if (file !== undefined) return readFileSync(join(folder, file), "utf8").trim();
  const { license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string") throw new Error(`${name} names no licence; Kite must not contain it`);
  const by = typeof author === "string" ? author : (author?.name ?? "its authors");
  return `${license}, by ${by}`;
}

// npm pack in a clone would make a package of sources, which does not run.
if (process.argv[2] === "--refuse") {
  process.stderr.write("kite: npm pack makes no package that runs; use npm run package\n");
  process.exit(1);
}

const out = resolve(process.argv[2] ?? ".");
const folder = mkdtempSync(join(tmpdir(), "kite-pack-"));
try {
  for (const name of ["bin", "dist"]) mkdirSync(join(folder, name));
  // Functions keep their names, so that the stack of a reported error can be read.
  const small = { minify: true, keepNames: true };
  const files = await bundleInto(join(folder, "dist"), small);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(metadata(), null, 2)}\n`);
  const kite = [join(folder, "dist/kite.cjs"), "man"];
  writeFileSync(join(folder, "kite.1"), execFileSync(process.execPath, kite, { encoding: "utf8" }));
  writeFileSync(join(folder, "dist/licences.txt"), `${licences(files)}\n`);
  for (const name of ["bin/kite", "README.md", "CHANGELOG.md", "LICENSE"])
    copyFileSync(join(root, name), join(folder, name));
  mkdirSync(out, { recursive: true });
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  process.stdout.write(`${join(out, packed.filename)}  ${Math.ceil(packed.size / 1000)} kB\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
