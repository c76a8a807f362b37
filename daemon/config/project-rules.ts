/** A project's own rules: which files need no lock, how long its edits wait, when its locks yield, and its checks. */
import { dirname } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";
import type { Repository } from "../facts/repositories.ts";
import {
  type Config,
  type ConfigValues,
  type Found,
  type SectionValues,
  settingsIn,
  stricter,
  tighten,
} from "./config.ts";
import { anyGlob } from "./glob.ts";

/** Ignored in every project: git's own files, installed packages, files that editors put beside a file. */
const alwaysIgnored: readonly string[] = [".git/", "node_modules/", "*.swp", "*.swo", "*~", ".#*", "#*#"];

/** Folders of build products, ignored if the `.gitignore` at the top of the worktree names them. */
const builtFolders: ReadonlySet<string> = new Set([
  ".cache",
  ".gradle",
  ".mypy_cache",
  ".next",
  ".nuxt",
  ".output",
  ".parcel-cache",
  ".pytest_cache",
  ".svelte-kit",
  ".tox",
  ".turbo",
  ".venv",
  "__pycache__",
  "build",
  "coverage",
  "dist",
  "out",
  "target",
]);

/** The directory whose `.kite/config.json` applies to a file, and the directory that its globs start from. */
export interface RulesPlace {
  readonly project: string;
  readonly worktree: string;
}

/** The user's settings, as the project's file tightens them, and as a person trusted it when it was stricter still. */
export interface Rules extends ConfigValues {
  /** Whether the file, an absolute real path, needs no lock. */
  ignores(path: string): boolean;
  /** The same without what the project's own settings ignore: any agent may write these, and gates count all the same. */
  ignoresAnyway(path: string): boolean;
  /** The longest wait of any client's edit, in ms, if the project lowers the user's `lockWaitMs`; else no bound. */
  readonly projectWaitMs: number;
  /** How long an untouched turn lock resists a waiter, in ms. */
  readonly yieldMs: number;
  /** The settings that the project's file has by itself. */
  readonly own: Found;
  /** The file's sections, trusted or not. */
  readonly sections: SectionValues;
  /** Why the project's file could not be read, and no earlier reading applies; else null. */
  readonly unread: string | null;
}

export interface ProjectRulesOptions {
  /** The user's configuration, which a project's file only tightens. */
  readonly config: Pick<Config, "values" | "yieldFollows">;
  /** Path of the user's configuration: in the home directory it is also the project's. */
  readonly configFile: string;
  /** By the path of a project's file: its settings that count on since a person trusted them, whatever becomes of the file. */
  readonly trusted: { files(): Promise<ReadonlyMap<string, object> | Unreachable> };
  readonly outside: BudgetedFs;
  readonly repository: (directory: string) => Promise<Repository | Unreachable>;
  /** Called for each problem in a project's file, once for each content of it. */
  readonly onProblem: (sentence: string) => void;
}

interface Kept {
  readonly texts: string;
  /** The user's settings that the rules were made of. */
  readonly user: ConfigValues;
  readonly rules: Rules;
  readonly trustedValues: Found;
  /** The problem of the last read, so that it is reported once. */
  unknown: string | null;
}

export class ProjectRules {
  readonly #options: ProjectRulesOptions;
  readonly #kept = new BoundedMap<string, Kept>({ entriesMax: limits.repositoriesMax });
  readonly #reading = new BoundedMap<string, { readonly until: number; readonly rules: Promise<Rules> }>({
    entriesMax: limits.repositoriesMax,
  });

  constructor(options: ProjectRulesOptions) {
    this.#options = options;
  }

  /** Returns the rules for a file (absolute, real) and the place of its session, at most `limits.repositoryKeptMs` old. */
  async for(path: string, home: RulesPlace | undefined): Promise<Rules> {
    if (home !== undefined && isBelow(path, home.worktree)) return this.at(home);
    const repository = await this.#options.repository(dirname(path));
    if (!("unreachable" in repository)) return this.at(repository);
    const { onProblem } = this.#options;
    onProblem(
      `the project's rules for ${path} are not known, those of the user count: ${repository.unreachable}`,
    );
    return this.at({ project: dirname(path), worktree: dirname(path) });
  }

  at({ project, worktree }: RulesPlace): Promise<Rules> {
    const id = `${project}\0${worktree}`;
    const now = this.#options.outside.now();
    const reading = this.#reading.get(id);
    if (reading !== undefined && now < reading.until) return reading.rules;
    const rules = this.#read(id, { project, worktree });
    this.#reading.set(id, { until: now + limits.repositoryKeptMs, rules });
    return rules;
  }

  async #read(id: string, place: RulesPlace): Promise<Rules> {
    const path = `${place.project}/.kite/config.json`;
    const found = path === this.#options.configFile ? null : await this.#text(path);
    const ignored = await this.#text(`${place.worktree}/.gitignore`);
    const kept = this.#kept.get(id);
    const unknown = whyUnknown(found) ?? whyUnknown(ignored);
    if (unknown !== null) {
      // A failure is not cached: the next caller reads again.
      this.#reading.delete(id);
      if (kept?.unknown !== unknown) this.#tellUnknown(place.project, unknown, kept !== undefined);
      if (kept !== undefined) {
        kept.unknown = unknown;
        return kept.rules;
      }
    }
    const [config, gitignore] = [textOf(found), textOf(ignored)];
    const trusted = await this.#options.trusted.files();
    const isTold = !("unreachable" in trusted);
    const trustedValues = isTold ? settingsIn(trusted.get(path) ?? {}) : (kept?.trustedValues ?? {});
    const texts = JSON.stringify([config, gitignore, unknown, trustedValues, isTold]);
    const user = this.#options.config.values;
    if (kept?.texts === texts && kept.user === user) {
      kept.unknown = null;
      return kept.rules;
    }
    const problems: string[] = [];
    const { values, own, sections } = tighten(this.#options.config, path, config, problems);
    if (!isTold)
      problems.push(`the gates trusted for ${place.project} are not known: ${trusted.unreachable}`);
    for (const problem of problems) this.#options.onProblem(problem);
    const built = [...alwaysIgnored, ...builtGlobs(gitignore ?? "")];
    const isIgnored = anyGlob([...built, ...values.ignore]);
    const isIgnoredAnyway = anyGlob([...built, ...this.#options.config.values.ignore]);
    const top = withSlash(place.worktree);
    const tightened = { ...values, ...stricter(values, trustedValues, () => {}) };
    const rules = {
      ...tightened,
      projectWaitMs: tightened.lockWaitMs < user.lockWaitMs ? tightened.lockWaitMs : Number.POSITIVE_INFINITY,
      ignores: below(top, isIgnored),
      ignoresAnyway: below(top, isIgnoredAnyway),
      // 0 would mean that the lock is not a turn lock. With 1 ms it yields as soon as no write is in flight.
      yieldMs: values.keepLockUntil === "edit" ? 1 : values.yieldMs,
      own,
      sections,
      unread: whyUnknown(found),
    };
    this.#kept.set(id, { texts, user, rules, trustedValues, unknown });
    return rules;
  }

  #tellUnknown(project: string, unknown: string, isKept: boolean): void {
    const count = isKept ? "the rules read before apply" : "the user's rules apply";
    this.#options.onProblem(`the rules of ${project} could not be read, ${count}: ${unknown}`);
  }

  /** Returns a small file's text; null if it is missing. */
  #text(path: string): Promise<string | null | Unreachable> {
    const { outside } = this.#options;
    // The folder may be a link to a mount that hangs.
    const how = { maybeElsewhere: true };
    return outside.fact(budget =>
      outside.look(path, null, budget, (prober, p) => prober.readSmall(p, limits.smallFileBytes), how),
    );
  }
}

function whyUnknown(text: string | null | Unreachable): string | null {
  return text !== null && typeof text !== "string" ? text.unreachable : null;
}

function textOf(text: string | null | Unreachable): string | null {
  return typeof text === "string" ? text : null;
}

/** Returns globs for the folders of build products that a `.gitignore` names whole and never re-includes. */
export function builtGlobs(gitignore: string): string[] {
  const globs: string[] = [];
  for (const line of gitignore.split("\n").map(l => l.trim())) {
    if (line.startsWith("!")) {
      for (const name of line.slice(1).split("/")) {
        for (const glob of globs.filter(g => g.includes(`${name}/`))) globs.splice(globs.indexOf(glob), 1);
      }
      continue;
    }
    const [, top, name = ""] = /^(\/?)(?:\*\*\/)?([^/]+?)(?:\/(?:\*\*?)?)?$/.exec(line) ?? [];
    if (builtFolders.has(name)) globs.push(top === "/" ? `/${name}/` : `${name}/`);
  }
  return globs;
}

/** Returns a test of absolute paths by one of paths below `top`; each path is tested once. */
function below(top: string, isIgnored: (path: string) => boolean): (path: string) => boolean {
  const known = new BoundedMap<string, boolean>({ entriesMax: limits.ignoreAnswersMax });
  return path => {
    let answer = known.get(path);
    if (answer === undefined) {
      answer = path.startsWith(top) && isIgnored(path.slice(top.length));
      known.set(path, answer);
    }
    return answer;
  };
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(withSlash(directory));
}

function withSlash(directory: string): string {
  return directory === "/" ? "/" : `${directory}/`;
}
