/** A browser in front of a page of `kite web`, whose daemon is a real one in a home of its own. */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { Home } from "../end-to-end/daemon.ts";
import type { KiteProcess } from "../end-to-end/kite.ts";

/** Where pictures of views are kept, for a person to look at. */
const pictures = fileURLToPath(new URL("../../.reports/pages", import.meta.url));

/** How a view is shown: by which `kite web`, how large, and what runs in the tab before the page does. */
interface How {
  readonly width?: number;
  readonly dark?: boolean;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly script?: () => void;
}

/** A daemon, its `kite web`, and a browser. All ends with `dispose`. */
export class Site {
  readonly home: Home;
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];
  #web: KiteProcess | null = null;
  #port = 0;
  /** What pages said of faults, of programs and of the policy: expected to stay empty. */
  readonly faults: string[] = [];

  private constructor(home: Home, browser: Browser) {
    this.home = home;
    this.#browser = browser;
  }

  /** Starts a daemon and a browser; `kite web` starts with `serve`. `prepare` fills the home of a daemon that has ended. */
  static async start(prepare: ((home: Home) => void) | null = null): Promise<Site> {
    const home = new Home();
    const before = await home.start();
    if (prepare !== null) {
      await before.kill();
      prepare(home);
      await home.start();
    }
    return Site.at(home);
  }

  /** Starts a browser for a daemon that runs. */
  static async at(home: Home): Promise<Site> {
    const program = process.env["KITE_TEST_BROWSER"];
    if (program === undefined) throw new Error("no browser: run npm run test:web");
    const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
    return new Site(home, browser);
  }

  get port(): number {
    return this.#port;
  }

  /** Starts `kite web` on a free port; returns the first address. */
  async serve(args: readonly string[] = [], env: Record<string, string> = {}): Promise<string> {
    this.#web = this.home.startKite(["web", "--json", "--port", String(this.#port), ...args], env);
    const { address, port } = JSON.parse(await firstLine(this.#web));
    this.#port = port;
    return address;
  }

  /** The address of another `kite web` on the same port. */
  async again(): Promise<string> {
    await this.stop();
    return this.serve();
  }

  /** Ends `kite web`. */
  async stop(): Promise<void> {
    const web = this.#web;
    if (web === null) return;
    this.#web = null;
    const ended = once(web, "exit");
    web.kill("SIGTERM");
    await ended;
  }

  /** A tab of its own, which keeps what it says of faults. */
  async tab(size: { readonly width?: number; readonly dark?: boolean } = {}): Promise<Page> {
    const { width = 1200, dark = false } = size;
    const context = await this.#browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
    });
    this.#contexts.push(context);
    const page = await context.newPage();
    // Shorter than a test's own time, so that a failure names its step.
    page.setDefaultTimeout(40_000);
    page.on("pageerror", error => this.faults.push(error.message));
    page.on("console", message => {
      if (message.type() === "error") this.faults.push(message.text());
    });
    return page;
  }

  /** A tab that reaches no network, and runs a page's programs only if asked to; `requests` has each address that it asked for. */
  async offlineTab(size: { readonly width?: number; readonly dark?: boolean }, hasPrograms = false) {
    const { width = 1200, dark = false } = size;
    const context = await this.#browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: dark ? "dark" : "light",
      javaScriptEnabled: hasPrograms,
      offline: true,
    });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(40_000);
    const requests: string[] = [];
    page.on("request", request => requests.push(request.url()));
    page.on("console", message => this.faults.push(message.text()));
    return { page, requests };
  }

  /** A tab that shows the view at `path`, of a new `kite web`; earlier tabs are closed. */
  async view(path: string, how: How = {}): Promise<Page> {
    const { args = [], env = {}, script, ...size } = how;
    await this.close();
    await this.stop();
    const page = await this.tab(size);
    if (script !== undefined) await page.addInitScript(script);
    const address = await this.serve(args, env);
    await page.goto(address.replace("/#", `/${path}#`));
    await page.locator("main h1").waitFor();
    return page;
  }

  /** Closes all tabs: none tells of a fault later. */
  async close(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await context.close();
  }

  async dispose(): Promise<void> {
    await this.#browser.close();
    await this.home.dispose();
  }
}

/** Keeps a picture of a page, whole. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** The first line that the process prints; throws with what it said if it ends before. */
async function firstLine(child: KiteProcess): Promise<string> {
  let text = "";
  let errors = "";
  child.stderr.on("data", piece => {
    errors += piece;
  });
  return new Promise((resolve, reject) => {
    child.stdout.on("data", piece => {
      text += piece;
      const end = text.indexOf("\n");
      if (end !== -1) resolve(text.slice(0, end));
    });
    child.once("exit", code => reject(new Error(`kite web ended with ${code}: ${errors}`)));
  });
}
