/** The page's server: which address is what. Whoever shows no token is told nothing but a page without a name. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { readPersonToken } from "../../daemon/instance/socket.ts";
import { personName } from "../../protocol/names.ts";
import { seemsAgents } from "../context/person.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { scopeProject } from "../context/project.ts";
import { dist } from "../version.ts";
import type { Live } from "./live.ts";
import { bounds, isTopic, type Topic, type Viewer } from "./wire.ts";

// Who may read the page. Other programs of this machine and other pages of the person's browser reach the same port. So
// each request shows that it comes from the page itself, and that somebody who had a code opened its page.
//
// Invariants: a code works once and for `bounds.codeMs`. Without the token every address answers as one that is not there.

export class Access {
  /** Ends of codes that nobody used yet: wall time in milliseconds, by the code's hash. */
  readonly #codes = new Map<string, number>();
  readonly #token = secret();
  readonly #now: () => number;

  /** The folder of the page's programs: who has no token cannot guess it. */
  readonly folder = secret();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns a new code. Of more than a few, the oldest ends. */
  newCode(): string {
    const code = secret();
    this.#codes.set(hashOf(code), this.#now() + bounds.codeMs);
    const [oldest] = this.#codes.keys();
    if (this.#codes.size > bounds.codesMax && oldest !== undefined) this.#codes.delete(oldest);
    return code;
  }

  /** Returns the token for a code; null: no such code, or it was used, or it is too old. */
  trade(code: string): string | null {
    const hash = hashOf(code);
    const endsAt = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (endsAt === undefined) return null;
    const leftMs = endsAt - this.#now();
    // More than there was at first: somebody set the clock back.
    return leftMs > 0 && leftMs <= bounds.codeMs ? this.#token : null;
  }

  /** Whether the request carries the token. */
  isKnown({ headers: { authorization = "" } }: Pick<IncomingMessage, "headers">): boolean {
    const [kind, token = ""] = authorization.split(" ");
    // Hashes have one length, and comparing them takes the same time whatever they are.
    return kind === "Bearer" && timingSafeEqual(digest(token), digest(this.#token));
  }
}

/**
 * Whether the request is for this server, and not sent by another page. A name that somebody's DNS leads to this
 * machine is not ours (DNS rebinding), and a browser says for whom it sends.
 */
export function isFromPage({ headers }: Pick<IncomingMessage, "headers">, port: number): boolean {
  const { host, origin } = headers;
  const site = headers["sec-fetch-site"];
  const names = ["127.0.0.1", "localhost"];
  // A browser leaves out the port that HTTP has by itself.
  const hosts = port === 80 ? names : names.map(name => `${name}:${port}`);
  if (host === undefined || !hosts.includes(host)) return false;
  if (origin !== undefined && origin !== `http://${host}`) return false;
  // `none`: the person opened the address.
  return site === undefined || site === "same-origin" || site === "none";
}

function secret(): string {
  return randomBytes(24).toString("base64url");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function hashOf(text: string): string {
  return digest(text).toString("base64url");
}

// What every answer says to the browser: it loads nothing from elsewhere, runs nothing inline, and keeps nothing.

/** The page's programs and styles are files of this server alone. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const headers: Readonly<Record<string, string>> = {
  "Content-Security-Policy": policy,
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** A file of the page. */
interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

/** What the page's addresses answer with. */
export interface Site {
  readonly live: Live;
  /** The page before it has a token, and the program that gets it one: neither says whose they are. */
  readonly door: { readonly page: Asset; readonly program: Asset };
  /** By name. */
  readonly assets: ReadonlyMap<string, Asset>;
  /** Answers `GET /api/NAME`; null: the question is none. */
  readonly answers: ReadonlyMap<string, (query: URLSearchParams) => Promise<unknown>>;
  /** Does what a person asks for; null: nobody may. */
  readonly act: ((deed: unknown) => Promise<unknown>) | null;
  readonly onTrouble: (error: unknown) => void;
}

class TooLong extends Error {}

export class PageServer {
  readonly access: Access;
  readonly #site: Site;
  readonly #server: Server;
  /** Connections that have not shown the token, the oldest first. */
  readonly #strangers = new Set<Socket>();
  #port = 0;

  constructor(site: Site, now: () => number) {
    this.#site = site;
    this.access = new Access(now);
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch((error: unknown) => {
        site.onTrouble(error);
        if (response.headersSent) response.destroy();
        else if (!this.access.isKnown(request)) nothing(response, 500);
        else this.#say(response, 500, { error: "Kite's page failed at this; see the terminal of kite web" });
      });
    });
    this.#server.headersTimeout = bounds.headMs;
    this.#server.requestTimeout = bounds.requestMs;
    this.#server.maxConnections = bounds.connectionsMax;
    this.#server.on("connection", (socket: Socket) => this.#meet(socket));
  }

  get port(): number {
    return this.#port;
  }

  /** Keeps room for the person's pages: another program may open connections and say nothing on them. */
  #meet(socket: Socket): void {
    const strangers = this.#strangers;
    strangers.add(socket);
    socket.once("close", () => strangers.delete(socket));
    const [oldest] = strangers;
    if (strangers.size > bounds.strangersMax) oldest?.destroy();
  }

  /** Listens on loopback alone; `port` 0: any. Throws a system error if the port is taken. */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Returns the address of a new page. */
  address(): string {
    return `http://127.0.0.1:${this.#port}/#${this.access.newCode()}`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "" } = request;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (!isFromPage(request, this.#port)) return nothing(response, 403);
    const { url = "/" } = request;
    if (!URL.canParse(url, "http://page")) return nothing(response, 404);
    const { pathname, searchParams } = new URL(url, "http://page");
    if (method === "POST" && pathname === "/token") return this.#trade(request, response);
    if (method === "GET") {
      // Views have addresses of their own, which a person may open again.
      if (/^\/[a-z-]*$/.test(pathname)) return send(response, this.#site.door.page);
      if (pathname === "/door.js") return send(response, this.#site.door.program);
      if (pathname === "/favicon.ico") return nothing(response, 204);
      const [, folder, name = "", ...more] = pathname.split("/");
      const asset =
        more.length === 0 && folder === this.access.folder ? this.#site.assets.get(name) : undefined;
      if (asset !== undefined) return send(response, asset);
    }
    const [, api, name = "", ...more] = pathname.split("/");
    if (api !== "api" || more.length > 0 || !this.access.isKnown(request)) return nothing(response, 404);
    this.#strangers.delete(request.socket);
    if (method === "GET" && name === "live") return this.#stream(searchParams, response);
    if (method === "POST" && name === "do") return this.#act(request, response);
    const answer = method === "GET" ? this.#site.answers.get(name) : undefined;
    if (answer === undefined) return nothing(response, 404);
    const reply = await answer(searchParams);
    if (reply === null) return this.#say(response, 400, { error: `this is no question for ${name}` });
    return this.#say(response, 200, reply);
  }

  async #trade(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request, response);
    if (body === undefined) return;
    const code = typeof body === "object" && body !== null && "code" in body ? body.code : null;
    const token = typeof code === "string" ? this.access.trade(code) : null;
    if (token === null) return nothing(response, 404);
    this.#say(response, 200, { token, folder: this.access.folder });
  }

  #stream(query: URLSearchParams, response: ServerResponse): void {
    const { live } = this.#site;
    const names = (query.get("topics") ?? "").split(",");
    const topics = names.filter((name): name is Topic => isTopic(name));
    if (topics.length !== names.length) this.#say(response, 400, { error: "topics: unknown" });
    else if (live.streams >= bounds.streamsMax)
      this.#say(response, 503, { error: "too many pages are open; close one" });
    else {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      const stop = live.open(topics, {
        get unreadBytes() {
          return response.writableLength;
        },
        write: line => void response.write(line),
      });
      response.once("close", stop);
    }
  }

  async #act(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { act } = this.#site;
    if (act === null)
      return this.#say(response, 403, { error: "only a person does this, in a page of their own" });
    const body = await bodyOf(request, response);
    if (body === undefined) return;
    const reply = await act(body);
    if (reply === null) return this.#say(response, 400, { error: "this is no action of the page" });
    this.#say(response, 200, reply);
  }

  #say(response: ServerResponse, status: number, value: unknown): void {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(value));
  }
}

function send(response: ServerResponse, { type, body }: Asset): void {
  response.writeHead(200, { "Content-Type": type, "Content-Length": body.length });
  response.end(body);
}

function nothing(response: ServerResponse, status: number): void {
  response.writeHead(status, { "Content-Length": 0 });
  response.end();
}

/** Returns the parsed body. Undefined: it was too long or no JSON, or its sender left; the request is answered if it can be. */
async function bodyOf(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of request) {
      size += piece.length;
      if (size > bounds.bodyBytes) throw new TooLong();
      pieces.push(piece);
    }
    return JSON.parse(Buffer.concat(pieces).toString("utf8"));
  } catch (error) {
    if (error === request.errored) return undefined;
    if (!(error instanceof TooLong) && !(error instanceof SyntaxError)) throw error;
    nothing(response, error instanceof TooLong ? 413 : 400);
    return undefined;
  }
}

// The page's files, as the build made them.

const script = "text/javascript; charset=utf-8";

/** Reads the files once. Throws a system error if the build lacks one. */
export function pageFiles(): Pick<Site, "door" | "assets"> {
  return {
    door: { page: file("web-door.html", "text/html; charset=utf-8"), program: file("web-door.js", script) },
    assets: new Map([
      ["page.js", file("web-page.js", script)],
      // What a snapshot needs, too.
      ["web-views.js", file("web-views.js", script)],
      ["page.css", file("web-page.css", "text/css; charset=utf-8")],
    ]),
  };
}

function file(name: string, type: string): Asset {
  return { type, body: readFileSync(join(dist, name)) };
}

/** Who looks. Null: an agent that is in no project. */
export async function viewerOf(world: ProcessContext, directory: string | undefined): Promise<Viewer | null> {
  const here = await scopeProject(world, undefined, {});
  const isPerson = !(await seemsAgents(world)) && readPersonToken(world.paths.personToken) !== null;
  const named = directory === undefined ? null : await scopeProject(world, directory, {});
  const project = isPerson ? named : here;
  if (project === null && !isPerson) return null;
  return { isPerson, project, here, home: world.env["HOME"] ?? "", user: personName() };
}
