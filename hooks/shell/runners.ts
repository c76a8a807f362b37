/** Which programs run a project's tests or build it: by their names and words. What is not listed passes. */
import type { Value } from "./variables.ts";
import { programOf } from "./wrappers.ts";

/** These do nothing else. */
const always: ReadonlySet<string> = new Set(
  (
    "ant ava bats ctest gmake gradle gradlew jasmine jest karma make mocha mvn mvnw ninja nose2 nox phpunit py.test " +
    "pytest rake rspec sbt tap tox tsc vitest webpack xcodebuild"
  ).split(" "),
);

/** These do if their first word is one of these. */
const byVerb: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    bazel: "build coverage run test",
    bun: "build test",
    cargo: "b bench build c check clippy nextest r run t test",
    cmake: "--build",
    cypress: "open run",
    deno: "bench check compile test",
    dotnet: "build msbuild publish run test",
    flutter: "build test",
    go: "build generate install run test vet",
    meson: "compile test",
    mix: "compile test",
    node: "--test",
    npm: "t test tst",
    pipenv: "check",
    playwright: "test",
    pnpm: "t test tst",
    poetry: "build",
    rollup: "-c --config",
    stack: "bench build test",
    swift: "build run test",
    vite: "build",
    yarn: "build compile test",
    zig: "build test",
  }).map(([name, verbs]) => [name, new Set(verbs.split(" "))]),
);

/** These run a script of the project by its name, behind `run`. */
const scripts: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun"]);
const scriptName =
  /(?:^|[:_-])(?:build|bundle|check|compile|coverage|e2e|spec|specs|test|tests|typecheck)(?:$|[:_-])/;

/** These run the program that their next words name, behind options and these words. */
const launchers: ReadonlyMap<string, readonly string[]> = new Map([
  ["npx", []],
  ["bunx", []],
  ["bundle", ["exec"]],
  ["npm", ["exec", "--"]],
  ["pnpm", ["exec", "dlx"]],
  ["yarn", ["exec", "dlx"]],
  ["poetry", ["run"]],
  ["pipenv", ["run"]],
  ["uv", ["run"]],
  ["uvx", []],
]);

/** Modules of Python that run tests or builds. */
const modules: ReadonlySet<string> = new Set(["build", "nose2", "nox", "pytest", "tox", "unittest"]);

/** Launchers in launchers. */
const depthMax = 3;

/** Returns the program and the words that show it, such as `npm test`; null: it runs no tests and no build, or nobody can tell. */
export function runsProject(values: readonly Value[], depth = 0): string | null {
  const program = programOf(values);
  if (program === null || depth > depthMax) return null;
  const words = values.slice(1).map(({ known, whole }) => (known ? whole : null));
  if (always.has(program)) return isAsking(words) ? null : program;
  if (/^python(?:\d(?:\.\d+)?)?$/.test(program)) {
    const at = words.indexOf("-m");
    const module = at === -1 ? null : (words[at + 1] ?? null);
    return module !== null && modules.has(module) ? `${program} -m ${module}` : null;
  }
  const [first = null] = words.filter(
    word => word === null || !word.startsWith("-") || isVerb(program, word),
  );
  if (first !== null && isVerb(program, first)) return `${program} ${first}`;
  if (scripts.has(program) && (first === "run" || first === "run-script")) {
    const script = words.slice(words.indexOf(first) + 1).find(word => word === null || !word.startsWith("-"));
    return typeof script === "string" && scriptName.test(script) ? `${program} run ${script}` : null;
  }
  return launched(program, values, depth);
}

function isVerb(program: string, word: string): boolean {
  return byVerb.get(program)?.has(word) === true;
}

/** What `npx vitest` and its like run. */
function launched(program: string, values: readonly Value[], depth: number): string | null {
  const behind = behindLauncher(program, values.slice(1));
  const inner = behind === null ? null : runsProject(behind, depth + 1);
  return inner === null ? null : `${program} ${inner}`;
}

/** The program that `npx` and its like run, with its words; null: `program` is not one of these, or runs none. */
export function behindLauncher(program: string, args: readonly Value[]): readonly Value[] | null {
  const own = launchers.get(program);
  if (own === undefined) return null;
  const isOwn = (word: Value | undefined) =>
    word?.known === true && (own.includes(word.whole) || word.whole.startsWith("-"));
  const at = args.findIndex(word => !isOwn(word));
  const isMissing = own.length > 0 && !args.slice(0, Math.max(at, 0)).some(word => own.includes(word.whole));
  return at === -1 || isMissing ? null : args.slice(at);
}

/** Only the version or help is asked for. */
function isAsking(words: readonly (string | null)[]): boolean {
  return words.length === 1 && /^(?:-h|--help|-V|-v|--version)$/.test(words[0] ?? "");
}
