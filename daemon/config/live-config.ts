/** The user's settings in a running daemon: the file is read again when it changes. */
import { readFileSync, statSync } from "node:fs";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type Config,
  type ConfigKey,
  type ConfigValues,
  envValues,
  type Found,
  objectIn,
  userConfig,
} from "./config.ts";
import { settings } from "./settings.ts";

export interface LiveConfigOptions {
  /** The user's file. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with each problem of a file, once for each content of it. */
  readonly onProblem: (sentence: string) => void;
  /** Called after each change. */
  readonly onChange?: (values: ConfigValues) => void;
}

/** Settings whose value counts until the daemon ends. */
const fixed = (Object.keys(settings) as readonly ConfigKey[]).filter(key => "fixed" in settings[key]);

/** The settings as they are now. Each look costs one stat while the file does not change; nothing looks by itself. */
export class LiveConfig implements Pick<Config, "values" | "sources" | "yieldFollows"> {
  readonly #options: LiveConfigOptions;
  readonly #first: ConfigValues;
  readonly #env: Found;
  #config: Config;
  #stamp: string;
  #problem: string | null = null;

  /** `first` is what the daemon began with. */
  constructor(first: Config, options: LiveConfigOptions) {
    this.#options = options;
    this.#first = first.values;
    this.#config = first;
    // Who loaded the first configuration reported its problems.
    this.#env = envValues(options.env, []);
    this.#stamp = this.#stampNow();
  }

  get values(): ConfigValues {
    return this.#now().values;
  }

  get sources(): Config["sources"] {
    return this.#now().sources;
  }

  get yieldFollows(): boolean {
    return this.#now().yieldFollows;
  }

  /** Why nothing of the file counts now, so that the settings of before stay; null: the file counts. */
  get problem(): string | null {
    this.#now();
    return this.#problem;
  }

  /** The settings that have another value since the daemon began, which counts from its next start. */
  get waiting(): readonly ConfigKey[] {
    const { values } = this.#now();
    return fixed.filter(key => JSON.stringify(values[key]) !== JSON.stringify(this.#first[key]));
  }

  #now(): Config {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp) return this.#config;
    this.#stamp = stamp;
    const { path, onProblem, onChange } = this.#options;
    const problems: string[] = [];
    const text = this.#text(problems);
    // A file that is no object at all was hardly meant: an editor may write it at this moment.
    if (text !== null) objectIn(text, path, problems);
    this.#problem = problems[0] ?? null;
    if (this.#problem === null) {
      this.#config = userConfig(this.#env, path, text, problems);
      onChange?.(this.#config.values);
    }
    for (const problem of problems) onProblem(problem);
    return this.#config;
  }

  /** Returns the file's text; null if it is missing or adds a problem. */
  #text(problems: string[]): string | null {
    const { path } = this.#options;
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return null;
      if (stat.isFile() && stat.size <= limits.smallFileBytes) return readFileSync(path, "utf8");
      problems.push(`${path} is ignored: it is no regular file of at most ${limits.smallFileBytes} bytes`);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      problems.push(`${path} is ignored: ${errorText(error)}`);
    }
    return null;
  }

  #stampNow(): string {
    try {
      const stat = statSync(this.#options.path, { throwIfNoEntry: false });
      return stat === undefined ? "-" : `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.mode}`;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return error.code ?? "?";
    }
  }
}
