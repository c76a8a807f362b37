// What a build of Kite consists of: the programs, each bundled with the packages it uses.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Bundles all programs into a folder. Returns the size of each file and the packages in it. Throws an error of esbuild,
 * which has printed it. Options are esbuild's.
 */
export async function bundleInto(outdir, options = {}) {
  const { build } = await import("esbuild");
  const reading = readLimits(build);
  const [limits, ...built] = await Promise.all([
    reading,
    ...nodePrograms(formatsInto(outdir, options), reading).map(program => build(program)),
    bundlePage(build, outdir),
  ]);
  copyUnbundled(outdir, limits);
  return describe(built);
}

/** Returns what all programs on Node share, and what modules and CommonJS programs have besides. */
function formatsInto(outdir, options) {
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    // Prefers a package's modules to its CommonJS form, so that unused code stays out.
    mainFields: ["module", "main"],
    target: "node20",
    logLevel: "warning",
    legalComments: "none",
    metafile: true,
    outdir,
    plugins: [noValidator, versionAlone, noTransport, yamlInModules],
    ...options,
  };
  // Some packages are CommonJS inside and call require for Node's own modules.
  const requireForEsm = 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);';
  const esm = { ...common, format: "esm", outExtension: { ".js": ".mjs" }, banner: { js: requireForEsm } };
  // Node starts a CommonJS program faster than a module.
  const cjs = { ...common, format: "cjs", outExtension: { ".js": ".cjs" } };
  return { common, esm, cjs };
}

/** Returns esbuild's options for each program that runs on Node. `reading` resolves to the protocol's bounds. */
function nodePrograms({ common, esm, cjs }, reading) {
  return [
    { ...cjs, entryPoints: ["bin/kite.ts"], plugins: [builtApart, ...common.plugins] },
    {
      ...esm,
      splitting: true,
      entryPoints: ["bin/any-command.ts"],
      plugins: [builtApart, clientAlone, commanderApart, ...common.plugins],
    },
    // What machines share, with the client for PostgreSQL, is a chunk: a daemon without a store never loads it.
    {
      ...esm,
      splitting: true,
      chunkNames: "daemon-[name]-[hash]",
      entryPoints: ["bin/daemon.ts"],
      plugins: [clientAlone, ...common.plugins],
    },
    {
      ...cjs,
      entryPoints: ["bin/frequent/*.ts"],
      entryNames: "frequent-[name]",
      plugins: [commanderApart, lockWhereTaken, limitsFilled(reading), ...common.plugins],
      define: { "import.meta.filename": "__filename", "import.meta.dirname": "__dirname" },
      // Modules of Node are required, not imported, when a command needs them: Node's loader of modules stays out.
      supported: { "dynamic-import": false },
      // Nothing logs the stack of a frequent command: names would only make it larger.
      minify: true,
      keepNames: false,
    },
    { ...cjs, entryPoints: ["commander"], minify: true, keepNames: false },
    { ...cjs, minify: true, entryPoints: ["hooks/client/hook.ts"] },
    // People find it among their client's own files, so it stays readable.
    {
      ...esm,
      banner: {},
      entryPoints: ["hooks/opencode/plugin/plugin.ts"],
      entryNames: "opencode-[name]",
    },
  ];
}

/** Copies the files that need no bundling. */
function copyUnbundled(outdir, limits) {
  for (const name of readdirSync(join(root, "hooks/client"))) {
    if (!name.endsWith(".pl")) continue;
    const text = readFileSync(join(root, "hooks/client", name), "utf8");
    writeFileSync(join(outdir, name), perlOf(text, limits), { mode: 0o755 });
  }
  const man = join(root, "bin/man");
  for (const name of readdirSync(man).filter(one => one.endsWith(".md")))
    copyFileSync(join(man, name), join(outdir, name));
}

/**
 * The page of `kite web`, for browsers: the program that lets somebody in, and the page itself. A snapshot's renderer shares
 * the views with it, as one file, so that they are in the package once.
 */
async function bundlePage(build, outdir) {
  const page = join(root, "bin/web/page");
  copyFileSync(join(page, "door.html"), join(outdir, "web-door.html"));
  return build({
    absWorkingDir: root,
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    outdir,
    splitting: true,
    chunkNames: "web-views",
    entryPoints: [
      { in: join(page, "door.ts"), out: "web-door" },
      { in: join(page, "main.tsx"), out: "web-page" },
      { in: join(page, "page.css"), out: "web-page" },
      { in: join(root, "bin/web/render.tsx"), out: "web-snapshot" },
    ],
    metafile: true,
  });
}

/**
 * Leaves the daemon and each program of `bin/frequent` a file of its own. Else the daemon would be built twice, and
 * loading some twenty chunks costs more than a frequent command. All other commands are chunks of one program, but for
 * what a snapshot shares with the page.
 */
const builtApart = {
  name: "built-apart",
  setup({ onResolve, onLoad }) {
    const frequent = { filter: /^\.\/frequent\/[\w-]+\.ts$/ };
    onResolve(frequent, ({ path }) => ({ path, namespace: "frequent" }));
    onLoad({ ...frequent, namespace: "frequent" }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path.replace(/^.*\/([\w-]+)\.ts$/, "./frequent-$1.cjs"))});`,
    }));
    onResolve({ filter: /./, namespace: "frequent" }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^\.\/any-command\.ts$/ }, ({ kind }) =>
      kind === "entry-point" ? undefined : { path: "./any-command.mjs", external: true },
    );
    onResolve({ filter: /^\.\/render\.tsx$/ }, () => ({ path: "./web-snapshot.js", external: true }));
    onResolve({ filter: /^\.\.\/daemon\.ts$/ }, () => ({ path: "./daemon.mjs", external: true }));
  },
};

/**
 * Takes of the client for PostgreSQL only what makes connections. It leaves out the pool, the binding to a C library
 * and the reader of addresses. It leaves out ways to read types of columns, too, because the connection has its own.
 */
const clientAlone = {
  name: "client-alone",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^pg$/ }, ({ path }) => ({ path, namespace: "client-alone" }));
    onLoad({ filter: /.*/, namespace: "client-alone" }, () => ({
      contents: 'export { default as Client } from "pg/lib/client.js";',
      resolveDir: root,
    }));
    const unused = {
      "pg-connection-string": "export function parse() { throw new Error('Kite gives no address as text'); }",
      "pg-types": "export const getTypeParser = () => text => text;",
      "pg-cloudflare": "",
    };
    onResolve({ filter: new RegExp(`^(?:${Object.keys(unused).join("|")})$`) }, ({ path }) => ({
      path,
      namespace: "unused",
    }));
    onLoad({ filter: /.*/, namespace: "unused" }, ({ path }) => ({ contents: unused[path] }));
  },
};

/** Leaves the lock of a file out where nothing takes it: of a CommonJS package a build cannot tell that loading it does nothing. */
const lockWhereTaken = {
  name: "lock-where-taken",
  setup({ onResolve }) {
    onResolve({ filter: /^proper-lockfile$/ }, () => ({
      path: join(root, "node_modules/proper-lockfile/index.js"),
      sideEffects: false,
    }));
  },
};

/** Takes the reader of YAML as modules, of which what nobody uses is left out; Node would get one whole. */
const yamlInModules = {
  name: "yaml-in-modules",
  setup({ onResolve }) {
    onResolve({ filter: /^yaml$/ }, () => ({ path: join(root, "node_modules/yaml/browser/dist/index.js") }));
  },
};

/**
 * Leaves the parser of command lines a file of its own, for all commands: most calls of a frequent one do without it. Chunks
 * require it, too: to import it, Node would load a reader of its exports, which takes a fifth of a command's time.
 */
const commanderApart = {
  name: "commander-apart",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^commander$/ }, ({ path }) => ({ path, namespace: "commander-apart" }));
    onLoad({ filter: /.*/, namespace: "commander-apart" }, () => ({
      contents: 'module.exports = require("./commander.cjs");',
    }));
    onResolve({ filter: /.*/, namespace: "commander-apart" }, ({ path }) => ({ path, external: true }));
  },
};

/**
 * Leaves out the MCP server's validator of JSON schemas: it is for the answers of people to a tool's questions, and Kite's tools
 * ask none. Their own input has schemas of zod.
 */
const noValidator = {
  name: "no-validator",
  setup({ onResolve, onLoad }) {
    const shims = "@modelcontextprotocol/server/_shims";
    onResolve({ filter: new RegExp(`^${shims}$`) }, () => ({ path: shims, namespace: "no-validator" }));
    onLoad({ filter: /.*/, namespace: "no-validator" }, () => ({
      contents: `
        export class DefaultJsonSchemaValidator {
          getValidator() { throw new Error("Kite's tools ask people nothing"); }
        }
        export { default as process } from "node:process";`,
    }));
  },
};

/** Leaves of package.json the one field that a program reads: each would contain the whole file. */
const versionAlone = {
  name: "version-alone",
  setup({ onLoad }) {
    const metadata = join(root, "package.json");
    onLoad({ filter: /package\.json$/ }, ({ path }) => {
      if (path !== metadata) return undefined;
      const { version } = JSON.parse(readFileSync(metadata, "utf8"));
      return { contents: JSON.stringify({ version }), loader: "json" };
    });
  },
};

/** Leaves out what the logger needs to write in a thread of its own: the daemon's log is a plain file. */
const noTransport = {
  name: "no-transport",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^thread-stream$/ }, ({ path }) => ({ path, namespace: "no-transport" }));
    onLoad({ filter: /.*/, namespace: "no-transport" }, () => ({
      contents: `module.exports = class { constructor() { throw new Error("Kite's log has no transport"); } };`,
    }));
  },
};

/** Makes the protocol's bounds one literal: gathering them from their files takes a millisecond. */
function limitsFilled(reading) {
  return {
    name: "limits-filled",
    setup({ onLoad }) {
      onLoad({ filter: /\/protocol\/limits\.ts$/ }, async () => ({
        contents: `export const limits = ${JSON.stringify(await reading)};`,
      }));
    },
  };
}

/** Returns the protocol's bounds, for programs that cannot import them. */
async function readLimits(build) {
  const entry = { absWorkingDir: root, entryPoints: ["protocol/limits.ts"], bundle: true, write: false };
  const { outputFiles } = await build({ ...entry, format: "iife", globalName: "protocol" });
  return runInNewContext(`${outputFiles[0].text};protocol.limits`);
}

/**
 * Returns a perl program with the numbers of `limits` filled in, and without `use strict`: loading it takes a tenth
 * of a hook's time.
 */
function perlOf(text, limits) {
  return text.replace(/^(?:use strict|our %limits);\n/gm, "").replace(/\$limits\{(\w+)\}/g, (_, name) => {
    if (typeof limits[name] !== "number") throw new Error(`limits hold no number ${name}`);
    return String(limits[name]);
  });
}

/** Returns the size of each file and the packages in it. */
function describe(built) {
  const files = {};
  for (const { metafile } of built) {
    for (const [path, { bytes, inputs }] of Object.entries(metafile.outputs)) {
      const packages = Object.keys(inputs).map(
        input => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1],
      );
      const unique = [...new Set(packages.filter(name => name !== undefined))].sort();
      files[path.split("/").at(-1)] = { bytes, packages: unique };
    }
  }
  return files;
}
