/** Loads modules from their sources as often as wanted. Each source is compiled once, however often it is loaded. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { Script } from "node:vm";
import { transformSync } from "esbuild";

type Load = (specifier: string) => unknown;
type Run = (module: { exports: unknown }, require: Load) => void;

const scripts = new Map<string, Script>();
const packages = createRequire(import.meta.url);

/**
 * Returns what `entry` exports. It and all that it imports run anew, so nothing is left of an earlier load, and the
 * file `changed` has other text. Packages are loaded once, as always.
 */
export function loadAnew(entry: string, changed: { readonly path: string; readonly text: string }): unknown {
  const modules = new Map<string, { exports: unknown }>();
  const load = (path: string): unknown => {
    const known = modules.get(path);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(path, module);
    const script = path === changed.path ? compile(path, changed.text) : scriptOf(path);
    const run = script.runInThisContext() as Run;
    run(module, name => (name.startsWith(".") ? load(resolve(dirname(path), name)) : packages(name)));
    return module.exports;
  };
  return load(entry);
}

function scriptOf(path: string): Script {
  const script = scripts.get(path) ?? compile(path, readFileSync(path, "utf8"));
  scripts.set(path, script);
  return script;
}

function compile(path: string, text: string): Script {
  const { code } = transformSync(text, { loader: "ts", format: "cjs", target: "node20", sourcefile: path });
  return new Script(`(function (module, require) {${code}\n})`, { filename: path });
}
