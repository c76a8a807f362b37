/** Whether Kite acts or only observes: the setting `mode`, which counts at once, also for a daemon that runs. */
import { readFileSync, statSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import { modeSettings } from "./base-settings.ts";
import type { Config } from "./config.ts";
import { objectIn } from "./object-file.ts";

const { mode } = modeSettings;
type Mode = (typeof mode)["initial"];

/** Reads the user's file again when it changes. */
export class ModeReader {
  readonly #path: string;
  /** Null: the file counts. */
  readonly #ofVariable: Mode | null;
  #stamp = "";
  #mode: Mode = mode.initial;

  /** `path` is the user's file; a variable of the daemon's own environment counts more. */
  constructor(path: string, { values, sources }: Pick<Config, "values" | "sources">) {
    this.#path = path;
    this.#ofVariable = sources.mode === mode.variable ? values.mode : null;
  }

  /** Whether Kite only observes now. Costs one stat while the file does not change. */
  observes(): boolean {
    if (this.#ofVariable !== null) return this.#ofVariable === "observe";
    try {
      const stat = statSync(this.#path, { throwIfNoEntry: false });
      const stamp = stat === undefined ? "-" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
      if (stamp !== this.#stamp) {
        const isRead = stat?.isFile() === true && stat.size <= limits.smallFileBytes;
        this.#mode = isRead ? modeIn(readFileSync(this.#path, "utf8"), this.#path) : mode.initial;
        this.#stamp = stamp;
      }
    } catch {
      // The file was removed meanwhile or cannot be read: the mode stays what it was, and `kite doctor` names the file.
    }
    return this.#mode === "observe";
  }
}

/** An invalid file or value counts as none; whoever loads the configuration reports it. */
function modeIn(text: string, path: string): Mode {
  const found = mode.schema.safeParse(objectIn(text, path, []).get("mode"));
  return found.success ? found.data : mode.initial;
}
