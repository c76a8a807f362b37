/** Programs that format or mend the files that their words name. */
import { readOptions } from "./options.ts";
import { behindLauncher } from "./runners.ts";
import type { Value } from "./variables.ts";
import { programOf } from "./wrappers.ts";

interface Formatter {
  /** The first words that write; without the row any does. */
  readonly verbs?: RegExp;
  /** It writes only with one of these options. */
  readonly writes?: RegExp;
  /** With one of these options it writes nothing. */
  readonly shows?: RegExp;
  /** Options whose value may be the next word. */
  readonly valued?: readonly string[];
  readonly short?: string;
}

const formatters: ReadonlyMap<string, Formatter> = new Map<string, Formatter>([
  [
    "prettier",
    {
      writes: /^(?:-w|--write)$/,
      valued: [
        "--config",
        "--ignore-path",
        "--parser",
        "--plugin",
        "--log-level",
        "--tab-width",
        "--print-width",
      ],
    },
  ],
  [
    "biome",
    {
      verbs: /^(?:check|format|lint)$/,
      writes: /^--(?:write|fix|apply|apply-unsafe)$/,
      valued: ["--config-path", "--max-diagnostics", "--colors", "--log-level", "--only", "--skip"],
    },
  ],
  [
    "eslint",
    { writes: /^--fix$/, short: "cfo", valued: ["--config", "--ext", "--rule", "--format", "--ignore-path"] },
  ],
  ["stylelint", { writes: /^--fix$/, valued: ["--config"] }],
  ["ruff", { verbs: /^format$/, shows: /^--(?:check|diff)$/, valued: ["--config"] }],
  ["black", { shows: /^--(?:check|diff)$/, short: "lCt", valued: ["--line-length", "--config"] }],
  ["gofmt", { writes: /^-w$/, short: "r" }],
  ["rustfmt", { shows: /^--check$/, valued: ["--edition", "--config-path", "--config"] }],
  ["clang-format", { writes: /^-i$/, valued: ["--style"] }],
]);

/** Names of the formatter with the words of a call, and the files that it names; null: another program, or it writes nothing. */
export function formatted(
  program: string,
  args: readonly Value[],
): { readonly name: string; readonly files: readonly string[] } | null {
  const known = formatters.get(program);
  if (known === undefined) {
    // `yarn prettier` runs it like `yarn exec prettier`.
    const inner = behindLauncher(program, args) ?? (/^(?:yarn|pnpm)$/.test(program) ? args : null);
    const name = inner === null ? null : programOf(inner);
    return inner === null || name === null || !formatters.has(name) ? null : formatted(name, inner.slice(1));
  }
  const { verbs, writes, shows, valued = [], short = "" } = known;
  const options: string[] = [];
  const words: string[] = [];
  for (let left = args; left.length > 0; ) {
    const { options: more, rest } = readOptions(left, { short, long: valued });
    options.push(...more.map(({ name }) => name));
    const [word] = rest;
    if (word !== undefined) words.push(word.known ? word.text : "");
    left = rest.slice(1);
  }
  if (verbs !== undefined && !verbs.test(words.shift() ?? "")) return null;
  if (writes !== undefined && !options.some(option => writes.test(option))) return null;
  if (options.some(option => shows?.test(option))) return null;
  return { name: program, files: words.filter(word => word !== "") };
}
