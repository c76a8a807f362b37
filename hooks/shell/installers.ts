/**
 * Programs that install packages: which of their commands change a project's manifest and its lock file, and which empty
 * the folder of its packages or of its builds.
 *
 * A program finds these in the folder in which it works, or in the nearest folder above that has them.
 */

import { type Option, readOptions, type Value } from "./variables.ts";

interface Installer {
  /** The commands that change the files, as the first words behind the options: `add`, `mod tidy`. */
  readonly commands: RegExp;
  readonly files: readonly string[];
  /** The commands that empty this folder. */
  readonly empties?: readonly [commands: RegExp, folder: string];
  /** With one of these options neither file changes. */
  readonly spares?: RegExp;
  /** Options that name the folder in which the program works. */
  readonly folder?: RegExp;
  /** An option that names the manifest itself. */
  readonly manifest?: RegExp;
  /** Options whose value may be the next word. */
  readonly valued?: readonly string[];
  readonly short?: string;
}

const node = {
  spares: /^(?:-g|--global|--dry-run|--no-save|--frozen-lockfile|--immutable|-h|--help)$/,
  folder: /^(?:-C|--prefix|--dir|--cwd)$/,
  valued: ["--prefix", "--dir", "--cwd", "--workspace", "--filter", "--registry", "--omit", "--include"],
} as const;

const installers: ReadonlyMap<string, Installer> = new Map<string, Installer>([
  [
    "npm",
    {
      ...node,
      short: "Cw",
      commands:
        /^(?:i|in|ins|inst|insta|instal|install|isntall|add|un|unlink|uninstall|r|rm|remove|up|update|upgrade|udpate|ddp|dedupe|audit fix)(?: |$)/,
      files: ["package.json", "package-lock.json", "npm-shrinkwrap.json"],
      empties: [/^(?:ci|clean-install|ic|install-clean|isntall-clean|prune)(?: |$)/, "node_modules"],
    },
  ],
  [
    "pnpm",
    {
      ...node,
      short: "CF",
      commands: /^(?:i|install|add|rm|remove|un|uninstall|up|update|upgrade|dedupe)(?: |$)/,
      files: ["package.json", "pnpm-lock.yaml"],
      empties: [/^prune(?: |$)/, "node_modules"],
    },
  ],
  [
    "yarn",
    {
      ...node,
      commands:
        /^(?:(?:workspace \S+ )?(?:install|add|remove|up|upgrade|upgrade-interactive|dedupe)(?: |$)|$)/,
      files: ["package.json", "yarn.lock"],
    },
  ],
  [
    "bun",
    {
      ...node,
      commands: /^(?:i|install|a|add|rm|remove|update)(?: |$)/,
      files: ["package.json", "bun.lock", "bun.lockb"],
    },
  ],
  [
    "uv",
    {
      commands: /^(?:add|remove|sync|lock)(?: |$)/,
      files: ["pyproject.toml", "uv.lock"],
      empties: [/^venv(?: \.venv)?$/, ".venv"],
      spares: /^(?:--frozen|--locked|--script|--check|--dry-run|-h|--help)$/,
      folder: /^--(?:project|directory)$/,
      valued: [
        "--project",
        "--directory",
        "--script",
        "--index",
        "--python",
        "--package",
        "--group",
        "--extra",
      ],
      short: "p",
    },
  ],
  [
    "poetry",
    {
      commands: /^(?:install|add|remove|update|lock)(?: |$)/,
      files: ["pyproject.toml", "poetry.lock"],
      empties: [/^env remove(?: |$)/, ".venv"],
      spares: /^(?:--dry-run|-h|--help)$/,
      folder: /^(?:-C|--directory|-P|--project)$/,
      valued: ["--directory", "--project", "--group", "--source", "--extras"],
      short: "CPGE",
    },
  ],
  [
    // `cargo install` builds a program elsewhere.
    "cargo",
    {
      commands: /^(?:add|rm|remove|update|upgrade|generate-lockfile)(?: |$)/,
      files: ["Cargo.toml", "Cargo.lock"],
      empties: [/^clean$/, "target"],
      spares: /^(?:-n|--dry-run|--locked|--frozen|-h|--help)$/,
      folder: /^-C$/,
      manifest: /^--manifest-path$/,
      valued: [
        "--manifest-path",
        "--features",
        "--package",
        "--target",
        "--rename",
        "--path",
        "--git",
        "--config",
      ],
      short: "CpF",
    },
  ],
  [
    "go",
    {
      commands: /^(?:get|mod (?:tidy|edit|init|vendor|download))(?: |$)/,
      files: ["go.mod", "go.sum"],
      empties: [/^mod vendor$/, "vendor"],
      spares: /^(?:-h|--help)$/,
      folder: /^-C$/,
      short: "C",
    },
  ],
  [
    "bundle",
    {
      commands: /^(?:(?:install|add|remove|update|lock)(?: |$)|$)/,
      files: ["Gemfile", "Gemfile.lock"],
      empties: [/^clean$/, "vendor"],
      spares: /^(?:--frozen|--deployment|--print|-h|--help)$/,
      manifest: /^--gemfile$/,
      valued: ["--gemfile", "--group", "--source", "--version", "--git", "--path"],
      short: "gsv",
    },
  ],
  [
    "composer",
    {
      commands: /^(?:i|install|u|update|upgrade|r|require|rm|remove|uninstall)(?: |$)/,
      files: ["composer.json", "composer.lock"],
      spares: /^(?:--dry-run|-h|--help)$/,
      folder: /^(?:-d|--working-dir)$/,
      valued: ["--working-dir"],
      short: "d",
    },
  ],
]);

/** What a call of an installer does. Paths are relative to where the call begins, or absolute. */
interface Installing {
  /** The command in short form: `npm install`. */
  readonly name: string;
  /** The files that it changes: each stands for the nearest one of its name from its folder up. */
  readonly files: readonly string[];
  /** The folder that it empties, likewise; null: none. */
  readonly emptied: string | null;
}

/** Returns null if the call is of another program, or does neither. A folder that only the shell knows has no files. */
export function installing(program: string, args: readonly Value[]): Installing | null {
  if (program === "corepack" && args[0]?.known === true) return installing(args[0].text, args.slice(1));
  const known = installers.get(program);
  if (known === undefined) return null;
  const { commands, empties, spares, folder, manifest } = known;
  const { options, words } = wordsOf(known, args);
  const isAsking = options.some(({ name }) => spares?.test(name) || (words.length === 0 && isVersion(name)));
  const command = words.join(" ");
  const files = commands.test(command) && !isAsking ? known.files : [];
  const emptied = empties?.[0].test(command) === true ? empties[1] : null;
  if (files.length === 0 && emptied === null) return null;
  const [verb = "install", second] = words;
  const name = `${program} ${/^(?:mod|audit|env)$/.test(verb) ? `${verb} ${second}` : verb}`;
  const named = options.findLast(option => manifest?.test(option.name))?.value ?? null;
  const at = options.findLast(option => folder?.test(option.name))?.value ?? null;
  if (named?.known === false || at?.known === false) return null;
  const below = named === null ? folderOf(at) : named.text.slice(0, named.text.lastIndexOf("/") + 1);
  const all = files.map((file, i) => (named !== null && i === 0 ? named.text : `${below}${file}`));
  return { name, files: all, emptied: emptied === null ? null : `${below}${emptied}` };
}

function isVersion(option: string): boolean {
  return /^(?:-v|-V|--version)$/.test(option);
}

function folderOf(at: Value | null): string {
  return at === null ? "" : `${at.text.replace(/\/+$/, "")}/`;
}

interface Words {
  readonly options: readonly Option[];
  /** The words that are not options; one that only the shell knows is empty. */
  readonly words: readonly string[];
}

function wordsOf({ valued = [], short = "" }: Installer, args: readonly Value[]): Words {
  const options: Option[] = [];
  const words: string[] = [];
  for (let left = args; left.length > 0; ) {
    const { options: more, rest } = readOptions(left, { short, long: valued });
    options.push(...more);
    const [word] = rest;
    if (word !== undefined) words.push(word.known ? word.text : "");
    left = rest.slice(1);
  }
  return { options, words };
}
