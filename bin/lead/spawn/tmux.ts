/**
 * Windows of tmux for agents that run in a terminal. A pane carries the id of its agent, so that no other pane is ever
 * taken for it. Ids of panes begin anew with each server. A window whose program could not be started is closed.
 *
 * Invariant: tmux gets the window, its mark and its program in one message, so whoever kills Kite leaves no window without
 * its agent's mark.
 */
import { limits } from "../../../protocol/limits.ts";
import {
  type Env,
  inheritedVariables,
  neededProgram,
  ProgramFailed,
  type Ran,
  runProgram,
} from "../../context/programs.ts";

/** The option of a pane that holds the agent's id, and the session for agents that are spawned outside tmux. */
const mark = "@kite_spawn";
const ownSession = "kite";
/** The program of a window that has no other yet. */
const idle = "/bin/cat";

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
    const { id, name } = window;
    const line = lineOf(window);
    const { code, output } = await this.#opened(window, line);
    const found = await this.find(id);
    if (found === null) {
      if (code === 0) throw new ProgramFailed(`the window of ${name} closed at once`);
      throw failed("new-window", output);
    }
    if (code !== 0) await this.#mended(found, window, output);
    const { output: socket } = await this.#run("display-message", "-p", "#{socket_path}");
    // Looked at last: a program that failed at once has ended by now.
    const pane = await this.find(id);
    if (pane === null) throw new ProgramFailed(`the window of ${name} closed at once`);
    return { socket: socket.trim(), ...pane };
  }

  /** An earlier tmux does not know how to keep a window alone if its program fails. Throws if that did not start. */
  async #mended({ pane }: Pane, { name }: Window, output: string): Promise<void> {
    const started = await this.#told("display-message", "-p", "-t", pane, "#{pane_start_command}");
    if (!started.includes(idle)) {
      await this.#told("rename-window", "-t", pane, name);
      return;
    }
    await this.#run("kill-pane", "-t", pane);
    throw failed("respawn-pane", output);
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
  async #opened(window: Window, line: readonly string[]): Promise<Ran> {
    if (this.#env["TMUX"]) return this.#all(opening(window, line, ["new-window"], ""));
    const beside = ["new-window", "-t", `=${ownSession}:`];
    const first = await this.#all(opening(window, line, beside, `=${ownSession}`));
    if (first.code === 0 || (await this.find(window.id)) !== null) return first;
    const begun = await this.#all(opening(window, line, ["new-session", "-s", ownSession], `=${ownSession}`));
    if (begun.code === 0 || (await this.find(window.id)) !== null) return begun;
    // Another one began the session meanwhile.
    return this.#all(opening(window, line, beside, `=${ownSession}`));
  }

  /** Runs commands of tmux one after the other, as one message to its server; the first that fails is the last. */
  #all(commands: readonly (readonly string[])[]): Promise<Ran> {
    const words = commands.flatMap((command, i) => [...(i === 0 ? [] : [";"]), ...command.map(literal)]);
    return runProgram(this.#program(), [...this.#server(), ...words], { cwd: this.#cwd, env: this.#env });
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
    throw failed(args[0] ?? "", output);
  }
}

function failed(command: string, output: string): ProgramFailed {
  return new ProgramFailed(`tmux ${command} failed: ${output.trim().slice(0, 500)}`, output);
}

/** The window's program with its variables, as one line. Throws `ProgramFailed` if it is too long for tmux. */
function lineOf({ words, variables }: Window): readonly string[] {
  const unset = inheritedVariables.flatMap(variable => ["-u", variable]);
  const set = Object.entries(variables).map(([variable, value]) => `${variable}=${value}`);
  const line = ["/usr/bin/env", ...unset, ...set, ...words];
  const bytes = line.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
  if (bytes <= limits.spawnTmuxBytes) return line;
  throw new ProgramFailed(
    `the agent's command line has ${bytes} bytes, and tmux takes ${limits.spawnTmuxBytes}; put the prompt into a file and name that`,
  );
}

/**
 * The commands that open a window. Its program begins only when the pane has its mark, and stays to be read if it fails. Until
 * then the window is called by the agent's id, which is unique, so that the commands mean this one.
 */
function opening(
  { id, name, cwd }: Window,
  line: readonly string[],
  begin: readonly string[],
  session: string,
): readonly (readonly string[])[] {
  const place = withoutFormats(cwd);
  const at = ["-t", `${session}:=${id}`];
  return [
    [...begin, "-d", "-n", id, "-c", place, idle],
    ["set-option", "-p", ...at, mark, id],
    ["respawn-pane", "-k", "-c", place, ...at, ...line],
    ["set-option", "-p", ...at, "remain-on-exit", "failed"],
    ["rename-window", ...at, name],
  ];
}

/** A word whose last character is a semicolon would end tmux's command there. */
function literal(word: string): string {
  return word.endsWith(";") ? `${word.slice(0, -1)}\\;` : word;
}

/** tmux expands formats in a directory: `#S` would become the name of its session, `#(...)` what a program prints. */
function withoutFormats(path: string): string {
  return path.replaceAll("#", "##");
}
