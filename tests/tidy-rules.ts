import { dirname, normalize } from "node:path/posix";
import { codeOf, type Import, importsOf, type Source } from "./tidy-source.ts";

/** Files within `within` that, with all that they import, need no package and no module of Node that `without` matches. */
interface Border {
  readonly within: RegExp;
  readonly without: RegExp;
}

/** What a folder's files may import: paths as patterns or behind a border, packages and Node's own modules by name. */
interface Allowed {
  readonly folder: RegExp;
  readonly values: readonly (RegExp | Border)[];
  readonly types: readonly RegExp[];
  /** It may import what only its run tells. */
  readonly isOpen?: true;
}

const protocol = /^protocol\//;
/** What brings no schemas along. */
const plainProtocol: Border = { within: protocol, without: /^zod$/ };
/** What runs in a browser and in a hook's plan, too. */
const pureProtocol: Border = { within: protocol, without: /./ };
const pureCommands: Border = { within: /^bin\//, without: /./ };
const node = /^node:/;
/** Pure: what a payload of an agent client means, and what a shell line does. */
const adapters = /^hooks\/(?!client\/|install\/|opencode\/plugin\/|[\w-]+\/settings\/)/;
const settings = /^hooks\/(?:install|[\w-]+\/settings)\//;

/** The client of a shared store, which brings a package of its own. */
const storeClient = /^daemon\/store\/(?:connection|errors)\.ts$/;

/** Who may import whom; the first row that fits a file counts. */
const table: readonly Allowed[] = [
  { folder: protocol, values: [protocol, /^zod$/, /^node:(?:buffer|os|path)$/], types: [] },
  {
    folder: /^daemon\/core\//,
    values: [/^daemon\/core\//, pureProtocol],
    types: [protocol, /^hooks\/seam\//],
  },
  // Only a daemon with a store loads it.
  { folder: storeClient, values: [storeClient, node, /^pg$/], types: [] },
  {
    folder: /^daemon\/journal\/postgres\//,
    values: [/^daemon\/journal\//, storeClient, /^protocol\/limits\.ts$/, node],
    types: [/^daemon\/core\//],
  },
  {
    folder: /^daemon\//,
    values: [/^daemon\//, /^hooks\/(?:seam\/|lead\/seam\.ts$)/, protocol, node, /^(?:pino|zod)$/],
    types: [],
  },
  // Pure as what it reads for: it parses a text.
  {
    folder: /^hooks\/shell\/parser\.ts$/,
    values: [/^hooks\/shell\//, /^protocol\/limits\.ts$/, /^unbash$/],
    types: [],
  },
  { folder: adapters, values: [adapters, pureProtocol], types: [protocol] },
  { folder: /^hooks\/client\//, values: [/^hooks\/client\//, node], types: [protocol] },
  {
    folder: settings,
    values: [settings, adapters, /^client\//, plainProtocol, node, /^(?:jsonc-parser|proper-lockfile)$/],
    types: [protocol],
  },
  {
    folder: /^client\//,
    values: [/^client\//, /^hooks\/client\/mounts\.ts$/, plainProtocol, node],
    types: [protocol],
  },
  { folder: /^bin\/bundle\.mjs$/, values: [node, /^esbuild$/], types: [] },
  { folder: /^bin\/(?:map|release)\.mjs$/, values: [node], types: [] },
  { folder: /^bin\/(?:build|pack)\.mjs$/, values: [node, /^bin\/bundle\.mjs$/], types: [] },
  {
    folder: /^bin\/mcp\//,
    values: [
      /^(?:bin|client|hooks|protocol)\//,
      node,
      /^zod$/,
      /^@modelcontextprotocol\/server(?:\/stdio)?$/,
    ],
    types: [],
  },
  // In a browser. Its door imports the page from where the server says that it is.
  {
    folder: /^bin\/web\/page\//,
    values: [
      /^bin\/web\/(?:page|views)\//,
      pureCommands,
      pureProtocol,
      /^(?:preact(?:\/hooks)?|@preact\/signals)$/,
    ],
    types: [],
    isOpen: true,
  },
  // Pure: rendered in a browser and for a snapshot.
  {
    folder: /^bin\/web\/views\//,
    values: [/^bin\/web\/views\//, pureCommands, pureProtocol, /^(?:preact(?:\/hooks)?|@dagrejs\/dagre)$/],
    types: [protocol, /^(?:bin|daemon\/trail)\//],
  },
  {
    folder: /^bin\/web\//,
    values: [/^(?:bin|client|daemon|protocol)\//, node, /^preact(?:-render-to-string)?$/],
    types: [/^commander$/],
  },
  {
    folder: /^bin\//,
    values: [
      /^(?:bin|client|daemon|hooks|protocol)\//,
      /^package\.json$/,
      node,
      /^(?:commander|proper-lockfile|yaml|zod)$/,
    ],
    types: [],
  },
];

/** Imports that the table does not allow, and those that cannot be told. */
export function forbiddenImports(sources: readonly Source[]): string[] {
  const found: string[] = [];
  const imports = new Map(sources.map(({ path, text }) => [path, importsOf(codeOf(text))]));
  const known = new Map<string, ReadonlySet<string>>();
  const needs = (path: string) => {
    const all = known.get(path) ?? needsOf(path, imports);
    known.set(path, all);
    return all;
  };
  for (const [path, all] of imports) {
    const row = table.find(({ folder }) => folder.test(path));
    if (row === undefined) continue;
    for (const { from, typeOnly } of all) {
      if (from === null && row.isOpen === true) continue;
      if (from === null) {
        found.push(`${path} imports something computed`);
        continue;
      }
      const target = targetOf(path, from);
      const allowed = typeOnly ? [...row.values, ...row.types] : row.values;
      if (!allowed.some(one => allows(one, target, needs))) {
        found.push(`${path} imports ${target}${typeOnly ? " (types)" : ""}`);
      }
    }
  }
  return found;
}

function targetOf(path: string, from: string): string {
  return from.startsWith(".") ? normalize(`${dirname(path)}/${from}`) : from;
}

function allows(one: RegExp | Border, target: string, needs: (path: string) => ReadonlySet<string>): boolean {
  if (one instanceof RegExp) return one.test(target);
  return one.within.test(target) && ![...needs(target)].some(need => one.without.test(need));
}

/** The packages and modules of Node that a file needs when it runs, with all that it imports. */
function needsOf(path: string, imports: ReadonlyMap<string, readonly Import[]>): ReadonlySet<string> {
  const needs = new Set<string>();
  const seen = new Set([path]);
  for (const one of seen) {
    for (const { from, typeOnly } of imports.get(one) ?? []) {
      if (from === null || typeOnly) continue;
      if (from.startsWith(".")) seen.add(targetOf(one, from));
      else needs.add(from);
    }
  }
  return needs;
}

/** Packages that more files import than the one that reads a language with them. */
export function spreadPackages(sources: readonly Source[]): string[] {
  return ["unbash", "yaml"].flatMap(name => {
    const users = sources.filter(({ text }) => importsOf(codeOf(text)).some(({ from }) => from === name));
    return users.length === 1 ? [] : [`${name} is imported by ${users.map(({ path }) => path).join(", ")}`];
  });
}

const impure = [
  "Date",
  "performance",
  "process",
  "console",
  "globalThis",
  "crypto",
  "Promise",
  "async",
  "await",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
];

/** A word of its own: no property of something, no key of an object or a type. */
const impureWord = new RegExp(
  `(?<![\\w$]|(?<!\\.\\.)\\.)(?:${impure.join("|")})(?![\\w$])(?!\\??\\s*:(?!:))`,
  "g",
);

/** Clock, randomness, waiting, the world: nothing of that where everything has to follow from the arguments. */
export function impurities(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { path, text } of sources) {
    if (!path.startsWith("daemon/core/") && !adapters.test(path)) continue;
    const code = codeOf(text);
    for (const [word] of code.text.matchAll(impureWord)) found.push(`${path} uses ${word}`);
    for (const [word] of code.text.matchAll(/\bMath\s*\.\s*random\b/g)) found.push(`${path} uses ${word}`);
    for (const { from } of importsOf(code))
      if (from?.startsWith("node:")) found.push(`${path} imports ${from}`);
  }
  return found;
}

const vague = "[Uu]til(?:s|ities)?|[Hh]elpers?|[Mm]anagers?|[Mm]isc|[Cc]ommon";
/** As a word of its own, or as one of a name in camel case. */
const vagueWord = new RegExp(`(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?:${vague})(?![a-z])`);

/** Names under which anything may hide. */
export function vagueNames(paths: readonly string[]): string[] {
  return paths.filter(path => vagueWord.test(path));
}

const topLevel = new Set([
  ".ci",
  ".gitattributes",
  ".gitignore",
  ".npmrc",
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "bin",
  "biome.json",
  "client",
  "daemon",
  "hooks",
  "package-lock.json",
  "package.json",
  "protocol",
  "tests",
  "tsconfig.json",
]);

export function strangersAtTop(paths: readonly string[]): string[] {
  const tops = paths.map(path => path.split("/")[0] ?? path);
  return [...new Set(tops)].filter(top => !topLevel.has(top));
}

/** Places that exist on one machine alone; written so that this file does not name them. */
const privatePlaces = new RegExp(["\\.\\./shared\\b", "(?<![\\w.~/-])/(?:work|root)/"].join("|"));

export function machinePaths(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { path, text } of sources) {
    const hit = privatePlaces.exec(text);
    if (hit !== null) found.push(`${path} names ${hit[0]}`);
  }
  return found;
}

/** Imports that bring a package's unused parts into the bundles: zod's object holds its error texts in all languages. */
export function wholeImports(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    /^import (?:\w+|\{[^}]*\bz\b[^}]*\}) from "zod"/m.test(text) ? [`${path} imports zod's object`] : [],
  );
}

/** Tests that do not run, or keep others from running. */
export function unrunTests(sources: readonly Source[]): string[] {
  const found: string[] = [];
  const marks =
    /(?<![.\w$])(?:(?:it|test|describe|suite|bench)(?:\s*\.\s*\w+)*\s*\.\s*(?:only|skip|todo|skipIf|runIf|fails)|xit|xtest|xdescribe|fit|fdescribe)\b/g;
  for (const { path, text } of sources) {
    if (!/\.(?:test|bench)\.ts$/.test(path)) continue;
    const code = codeOf(text).text;
    for (const [mark] of code.matchAll(marks)) found.push(`${path} has ${mark}`);
    for (const [mark] of code.matchAll(/(?<![.\w$])(?:ctx|context|task|t)\s*\.\s*skip\s*\(/g))
      found.push(`${path} has ${mark}`);
  }
  return found;
}

/** Waits that give up after a second, which one look can take; `expect.poll` is as patient as the configuration says. */
export function shortWaits(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    [...codeOf(text).text.matchAll(/\bvi\s*\.\s*(?:waitFor|waitUntil)\b(?![^;]*\btimeout\b)/g)].map(
      ([wait]) => `${path} has ${wait}`,
    ),
  );
}

/** Packages in the hook's bundle; it may hold none. */
export function packagesIn(inputs: readonly string[]): string[] {
  const names = inputs.map(input => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1]);
  return [...new Set(names.filter(name => name !== undefined))].sort();
}

/** Where packages are downloaded from is each machine's own affair. */
export function downloadAddresses(lockFile: string): string[] {
  return [...lockFile.matchAll(/"resolved":\s*"[^"]*"|https?:\/\/[^"\s]*\.tgz[^"\s]*/g)].map(
    ([match]) => match,
  );
}

/** Paths from the root that a page names and that are not among `paths`. */
export function lostPaths(page: string, paths: readonly string[]): string[] {
  return [...page.matchAll(/`((?:bin|client|daemon|hooks|protocol|tests)\/[\w./-]*)`/g)]
    .map(([, name = ""]) => name)
    .filter(name => !paths.some(path => (name.endsWith("/") ? path.startsWith(name) : path === name)));
}

/** Files that a comment names by their last words, and that are not among `paths`. `a.ts` and `src/` stand for anybody's. */
export function missingFiles(sources: readonly Source[], paths: readonly string[]): string[] {
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^\s*(?:\/\/|\/?\*).*$/gm)]
      .flatMap(([line]) => [...line.matchAll(/`(?:\.\.\/)*((?:[\w-]+\/)*[\w.-]+\.tsx?)`/g)])
      .map(([, name = ""]) => name)
      .filter(name => !/^src\/|(?:^|\/)[a-z]\.[\w.]+$/.test(name))
      .filter(name => !paths.some(one => one === name || one.endsWith(`/${name}`)))
      .map(name => `${path} names ${name}`),
  );
}
