/** Every view: without violations of accessibility, at both widths, light and dark; empty, with agents at work, and at the end of a day; pictures. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { views } from "../../bin/web/views/list.ts";
import { picture, Site } from "./browser.ts";
import { playDay } from "./day.ts";
import { violations } from "./violations.ts";
import { fill } from "./world.ts";

let site: Site;

const screens = [
  { width: 400, dark: false },
  { width: 2000, dark: true },
];

/** What a home has before its views are looked at. */
const makers: Readonly<Record<string, (home: Site["home"]) => Promise<unknown>>> = {
  empty: async () => {},
  filled: fill,
  day: playDay,
};

describe.each(Object.entries(makers))("%s", (kind, make) => {
  beforeAll(async () => {
    site = await Site.start();
    await make(site.home);
  });
  afterAll(() => site.dispose());

  test.each(views.map(({ path, title }) => ({ path, title })))("$path", async ({ path, title }) => {
    for (const screen of screens) {
      const page = await site.view(path, screen);
      expect(await page.locator("main h1").innerText()).toBe(title);
      await page.locator("[data-loading]").waitFor({ state: "detached" });
      await picture(page, `${path}-${kind}-${screen.width}${screen.dark ? "-dark" : ""}`);
      expect(await violations(page)).toEqual([]);
      expect(await tooWide(page), `${path} scrolls sideways at ${screen.width}`).toBe(false);
    }
    expect(site.faults).toEqual([]);
  });
});

/** Whether the page as a whole scrolls sideways; a part of it may. */
function tooWide(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
}
