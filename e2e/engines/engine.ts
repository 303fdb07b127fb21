/** A browser window without cookies. An element is the first one of its CSS selector. */
export type Visit = {
  open(address: string): Promise<void>;
  /** Goes back to the previous page, as the browser's button does. */
  back(): Promise<void>;
  /** Replaces the text of an input by typing. */
  fill(selector: string, text: string): Promise<void>;
  /** Types at the focus. */
  type(text: string): Promise<void>;
  /** Presses the Tab key. */
  tab(): Promise<void>;
  click(selector: string): Promise<void>;
  /** Returns the visible text of an element. Throws if there is none. */
  text(selector: string): Promise<string>;
  /** Returns the value of an input. Throws if there is none. */
  value(selector: string): Promise<string>;
  address(): Promise<string>;
  /** Returns the cookie of this name as the browser stores it. */
  cookie(name: string): Promise<{ secure?: boolean | undefined; httpOnly?: boolean | undefined } | undefined>;
  close(): Promise<void>;
};

/** A browser that accepts the certificate of the tests. */
export type Engine = {
  visit(): Promise<Visit>;
  close(): Promise<void>;
};
