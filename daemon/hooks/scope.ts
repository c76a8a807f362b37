/** What the actions of one hook event share: each is found out when it is first asked for, and once. */
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Rules } from "../config/project-rules.ts";
import type { FileRef } from "../core/frame/actors.ts";
import { pathOf } from "../core/tables/naming.ts";
import { refs, refsNow } from "../facts/file-refs.ts";
import { isRefusal } from "../server/call.ts";
import type { HookServices } from "./hook-services.ts";

/** A file as an action names it. */
export interface NamedFile {
  readonly session: string;
  readonly cwd: string;
  readonly file: string;
}

/** A file, and the rules that its project sets for it; or why it is not known. */
export type RuledFile = { readonly file: FileRef; readonly rules: Rules } | Refusal;

export class Scope {
  readonly #services: HookServices;
  #named: NamedFile | null = null;
  #ruled: Promise<RuledFile> | null = null;
  #answerByMs: number | null = null;

  constructor(services: HookServices) {
    this.#services = services;
  }

  /** When a guarded line's hook has to answer, by the clock: its client waits for all of the guard's actions together. */
  get answerByMs(): number {
    this.#answerByMs ??= this.#services.clock.now() + limits.guardAnswerMs;
    return this.#answerByMs;
  }

  /** Returns the event's file with its rules. */
  ruledFile(named: NamedFile): Promise<RuledFile> {
    const known = this.#named;
    const isKnown = known?.file === named.file && known.cwd === named.cwd && known.session === named.session;
    if (this.#ruled === null || !isKnown) {
      this.#named = named;
      this.#ruled = this.#find(named);
    }
    return this.#ruled;
  }

  async #find({ session, cwd, file }: NamedFile): Promise<RuledFile> {
    const files = refsNow(this.#services, cwd, [file]) ?? (await refs(this.#services, cwd, [file]));
    if (isRefusal(files)) return files;
    const [found] = files;
    if (found === undefined) throw new Error("one name gave no file");
    return { file: found, rules: await rulesFor(this.#services, session, found) };
  }
}

/** The rules that the file's project sets for it. */
export function rulesFor({ rules, engine }: HookServices, session: string, file: FileRef): Promise<Rules> {
  return rules.for(pathOf(file), engine.state.sessions.live.get(session));
}
