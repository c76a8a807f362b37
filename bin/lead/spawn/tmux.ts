/**
 * Windows of tmux for agents that run in a terminal. A pane carries the id of its agent, so that no other pane is ever
 * taken for it: ids of panes begin anew with each server. A window whose program could not be started is closed.
 */
import { limits } from "../../../protocol/limits.ts";
import { type Env, inheritedVariables, neededProgram, ProgramFailed, runProgram } from "../../programs.ts";

/** The option of a pane that holds the agent's id, and the session for agents that are spawned outside tmux. */
const mark = "@kite_spawn";
const ownSession = "kite";

export interface Window {
  readonly id: string;
  readonly name: string;
  readonly cwd: string;
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

export interface Pane {
  readonly pane: string;
  /** The process in it. */
  readonly pid: number;
  /** Its process has ended with an error, and the pane shows what it said. */
  readonly isDead: boolean;
}

export class Tmux {
  readonly #env: Env;
  readonly #cwd: string;
  /** The server's socket; null: the one that tmux finds itself. */
  readonly #socket: string | null;

  constructor(env: Env, cwd: string, socket: string | null = null) {
    this.#env = env;
    this.#cwd = cwd;
    this.#socket = socket;
  }

  /** Opens a window and starts the program in it. Returns the pane and the server's socket. */
  async open(window: Window): Promise<Pane & { readonly socket: string }> {
    const { id, name, cwd } = window;
    const how = ["-d", "-P", "-F", "#{pane_id} #{socket_path}", "-n", name, "-c", withoutFormats(cwd)];
    const opened = await this.#opened(how);
    const [, pane = "", socket = ""] = /(%\d+) (\S.*)/.exec(opened) ?? [];
    try {
      await this.#started(pane, window);
    } catch (error) {
      await this.#run("kill-pane", "-t", pane);
      throw error;
    }
    const found = await this.find(id);
    if (found === null) throw new ProgramFailed(`the window of ${name} closed at once`);
    return { socket, ...found };
  }

  /** Starts the window's program in an empty pane. It begins only when the pane has its mark, and stays to be read if it fails. */
  async #started(pane: string, { id, cwd, words, variables }: Window): Promise<void> {
    await this.#told("set-option", "-p", "-t", pane, mark, id);
    await this.#run("set-option", "-p", "-t", pane, "remain-on-exit", "failed");
    const unset = inheritedVariables.flatMap(variable => ["-u", variable]);
    const set = Object.entries(variables).map(([variable, value]) => `${variable}=${value}`);
    const line = ["/usr/bin/env", ...unset, ...set, ...words];
    const bytes = line.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
    if (bytes > limits.spawnTmuxBytes)
      throw new ProgramFailed(
        `the agent's command line has ${bytes} bytes, and tmux takes ${limits.spawnTmuxBytes}; put the prompt into a file and name that`,
      );
    await this.#told("respawn-pane", "-k", "-c", withoutFormats(cwd), "-t", pane, ...line);
  }

  /** Returns the agent's pane, or null if it is gone. */
  async find(id: string): Promise<Pane | null> {
    const { code, output } = await this.#run(
      ...["list-panes", "-a", "-F", `#{${mark}} #{pane_id} #{pane_pid} #{pane_dead}`],
    );
    // Without a server there are no panes.
    if (code !== 0) return null;
    for (const line of output.split("\n")) {
      const [own, pane, pid, dead] = line.split(" ");
      if (own === id && pane !== undefined) return { pane, pid: Number(pid), isDead: dead === "1" };
    }
    return null;
  }

  /** Returns what the pane shows, with some lines before. */
  async shown({ pane }: Pane): Promise<string> {
    return this.#told("capture-pane", "-p", "-J", "-S", "-200", "-t", pane);
  }

  /** Closes the pane: its program gets the signal of a closed terminal. */
  async close({ pane }: Pane): Promise<void> {
    await this.#told("kill-pane", "-t", pane);
  }

  /** The words that show the pane to the person at this terminal. */
  async showWords({ pane }: Pane): Promise<readonly [string, ...string[]]> {
    await this.#told("select-window", "-t", pane);
    await this.#told("select-pane", "-t", pane);
    const how = this.#env["TMUX"] ? "switch-client" : "attach-session";
    return [this.#program(), ...this.#server(), how, "-t", pane];
  }

  /** A window beside the caller's, or in Kite's own session, which it begins if need be. */
  async #opened(how: readonly string[]): Promise<string> {
    const idle = ["/bin/cat"];
    if (this.#env["TMUX"]) return this.#told("new-window", ...how, ...idle);
    const beside = await this.#run("new-window", ...how, "-t", `=${ownSession}:`, ...idle);
    if (beside.code === 0) return beside.output;
    const begun = await this.#run("new-session", ...how, "-s", ownSession, ...idle);
    if (begun.code === 0) return begun.output;
    // Another one began the session meanwhile.
    return this.#told("new-window", ...how, "-t", `=${ownSession}:`, ...idle);
  }

  #program(): string {
    return neededProgram("tmux", this.#env, this.#cwd);
  }

  #server(): string[] {
    return this.#socket === null ? [] : ["-S", this.#socket];
  }

  #run(...args: readonly string[]) {
    const words = [...this.#server(), ...args.map(literal)];
    return runProgram(this.#program(), words, { cwd: this.#cwd, env: this.#env });
  }

  async #told(...args: readonly string[]): Promise<string> {
    const { code, output } = await this.#run(...args);
    if (code === 0) return output;
    throw new ProgramFailed(`tmux ${args[0]} failed: ${output.trim().slice(0, 500)}`, output);
  }
}

/** A word whose last character is a semicolon would end tmux's command there. */
function literal(word: string): string {
  return word.endsWith(";") ? `${word.slice(0, -1)}\\;` : word;
}

/** tmux expands formats in a directory: `#S` would become the name of its session, `#(...)` what a program prints. */
function withoutFormats(path: string): string {
  return path.replaceAll("#", "##");
}
