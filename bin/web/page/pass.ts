/** The browser's right to read the page. */

/** What the browser keeps of its right to read the page, in this tab alone. */
export interface Pass {
  readonly token: string;
  /** Where the page's programs are. */
  readonly folder: string;
}
