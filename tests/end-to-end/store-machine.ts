/** Machines with a clone of one project each, and databases of one server, for tests of a shared store. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { Connection, type Row } from "../../daemon/store/connection.ts";
import type { PostgresServer } from "../store/postgres-server.ts";
import { Home, type Message } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let databases = 0;

/** How many databases there are so far, for names of their own. */
export function databaseCount(): number {
  return databases;
}

/** No line is broken. */
export const wide = { COLUMNS: "1000" };

/** Runs a statement as the server's administrator; returns its rows. */
export async function sql(server: PostgresServer, text: string): Promise<readonly Row[]> {
  const connection = await Connection.open(server.address("kite"), 10_000, 30_000);
  const rows = await connection.query(text);
  await connection.end();
  return rows;
}

/** A database of a test's own; returns its address. */
export async function database(server: PostgresServer, user = "kite"): Promise<string> {
  databases += 1;
  const name = `store_${databases}`;
  if (user !== "kite") await sql(server, `CREATE ROLE ${user} LOGIN PASSWORD 'very secret'`);
  await sql(server, `CREATE DATABASE ${name} OWNER ${user}`);
  return `postgresql://${user}@127.0.0.1:${server.port}/${name}`;
}

/** A machine with a clone of one project. */
export class Machine {
  readonly home = new Home();
  readonly repo = join(this.home.work, "shop");

  constructor() {
    onTestFinished(() => this.home.dispose());
    mkdirSync(join(this.repo, ".git"), { recursive: true });
    for (const folder of ["objects", "refs"]) mkdirSync(join(this.repo, ".git", folder));
    writeFileSync(join(this.repo, ".git", "HEAD"), "ref: refs/heads/main\n");
    const origin = '[remote "origin"]\n\turl = git@example.com:team/shop.git\n';
    writeFileSync(join(this.repo, ".git", "config"), origin);
  }

  async start(): Promise<this> {
    await this.home.start();
    return this;
  }

  /** Runs a command in the clone that has to end well. */
  async kite(...args: string[]): Promise<string> {
    return this.home.kiteAt(this.repo, { ...this.home.environment, ...wide }, ...args);
  }

  /** The same, however it ends. */
  async fails(...args: string[]): Promise<string> {
    const { code, out, err } = await this.home.command(args, wide, this.repo);
    expect(code, out + err).not.toBe(0);
    return out + err;
  }

  async json(...args: string[]): Promise<Message> {
    return JSON.parse(await this.kite(...args, "--json"));
  }

  async tasks(): Promise<readonly string[]> {
    const { tasks } = (await this.json("task", "list")) as { tasks: { description: string }[] };
    return tasks.map(({ description }) => description);
  }

  /** What the store has of this machine's projects. */
  async shared(): Promise<readonly unknown[]> {
    const { tasks, context } = await this.json("store", "leave", "--dry-run");
    return [tasks, context];
  }

  get config(): Record<string, unknown> {
    const { config } = this.home.paths;
    return existsSync(config) ? JSON.parse(readFileSync(config, "utf8")) : {};
  }

  /** The files with what the daemon knows of shared projects. */
  get copies(): readonly string[] {
    const { storeCopy } = this.home.paths;
    const folder = dirname(storeCopy);
    const names = readdirSync(folder).filter(name => name.startsWith(basename(storeCopy)));
    return names.map(name => join(folder, name));
  }

  /** Everything that Kite keeps in its directory, but for the password's file. */
  get kept(): string {
    const { home, storeSecret } = this.home.paths;
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter(one => one.isFile());
    return files
      .map(one => join(one.parentPath, one.name))
      .filter(path => path !== storeSecret)
      .map(path => readFileSync(path, "latin1"))
      .join("\n");
  }

  /** Commits a file of the clone. */
  commit(name: string, text: string): void {
    writeFileSync(join(this.repo, name), text);
    const env = { PATH: process.env["PATH"] ?? "", HOME: this.home.work, GIT_CONFIG_NOSYSTEM: "1" };
    const named = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    for (const args of [
      ["add", "-A"],
      ["commit", "-m", "work"],
    ])
      execFileSync("git", [...named, ...args], { cwd: this.repo, env, stdio: "pipe" });
  }

  /** Runs kite at a terminal, and types a line at each question. */
  async atTerminal(args: string, answers: Readonly<Record<string, readonly string[]>>) {
    const line = `stty cols 200 rows 40; exec ${process.execPath} ${kiteProgram} ${args}`;
    const env = { ...this.home.environment, TERM: "xterm" };
    const child = this.home.adopt(
      spawn("script", ["-qec", line, "/dev/null"], { cwd: this.repo, env, stdio: "pipe" }),
    );
    let text = "";
    const typed = new Map<string, number>();
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      for (const [question, lines] of Object.entries(answers)) {
        const count = text.split(question).length - 1;
        for (let at = typed.get(question) ?? 0; at < count; at += 1) child.stdin.write(lines[at] ?? "\u0003");
        typed.set(question, count);
      }
    });
    const [code] = await once(child, "close");
    return { code, text };
  }
}
