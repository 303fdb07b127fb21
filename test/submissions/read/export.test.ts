import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csvHead, csvRecord, csvTimes, jsonLineOf, submissionFormats } from '../../../src/submissions/read/export.ts';
import { codePoint } from '../../support/code-point.ts';
import { eventOf, keptSubmission } from '../../support/submissions.ts';

const cellOf = (text: string) => csvRecord([text]).slice(0, -'\r\n'.length);
const isDefused = (text: string) => /^"?'/.test(cellOf(text)) && !text.startsWith("'");

describe('csvRecord (reference §13.4)', () => {
  test.each([
    ['plain', 'plain'],
    ['two words ', 'two words '],
    ['a;b\tc', 'a;b\tc'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['one\ntwo', '"one\ntwo"'],
    [null, ''],
    [undefined, ''],
  ])('writes %j as %s', (value, cell) => {
    expect(csvRecord([value, 'x'])).toBe(`${cell},x\r\n`);
  });

  test('writes every value so that a CSV parser reads it, and begins no cell like a formula', () => {
    const value = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.string({ unit: fc.constantFrom(...'=+-@\t\r\n",\'＝＋－＠a1 (\u200e\u00ad\u3164') }),
    );
    fc.assert(
      fc.property(value, value, (name, message) => {
        const event = eventOf({ fields: { name, message, email: 'a@b.example' } });
        const { head, csv } = submissionFormats('UTC');
        const [columns = [], cells = []] = parseCsv(head + csv(keptSubmission(event)));
        expect(cells).toHaveLength(columns.length);
        for (const [column, written] of [
          ['name', name],
          ['message', message],
        ] as const) {
          const cell = cells[columns.indexOf(column)] ?? '';
          expect(cell).not.toMatch(/^[\p{Cf}\u3164\s]*[=@＝＠]/u);
          expect([written, `'${written}`]).toContain(cell);
        }
      }),
    );
  });
});

describe('formulas in CSV (reference §13.4 rule 6)', () => {
  const pieces = [
    ...[
      '+',
      '-',
      '＋',
      '－',
      '=',
      '@',
      '*',
      '/',
      '^',
      '&',
      '<',
      '%',
      ':',
      ',',
      ';',
      '(',
      ')',
      '（',
      '!',
      '|',
      '"',
      "'",
    ],
    ...['5', '415', '1.5', '１', 'A1', 'ABC123', 'R1C1', 'TRUE', 'two', 'rooms', 'é', 'SUM', 'SUM(1)', 'LOG10 (5)'],
    ...['"x"', "cmd|' /C calc'!A0", "'[x]y'!A1", ' ', ' ', '  ', '\t', '\n', '\u00a0', '\u200e'],
  ];
  const signed = fc
    .tuple(
      fc.constantFrom('', ' ', '\t', '\u200e', '\u3164'),
      fc.constantFrom('+', '-', '＋', '－'),
      fc.array(fc.constantFrom(...pieces), { maxLength: 6 }),
    )
    .map(([before, sign, rest]) => before + sign + rest.join(''));

  test('every text from which a spreadsheet computes a value gets a prefix', () => {
    let computing = 0;
    fc.assert(
      fc.property(signed, (text) => {
        if (!computes(text)) return;
        computing += 1;
        expect(isDefused(text)).toBe(true);
      }),
      { numRuns: 30_000 },
    );
    expect(computing).toBeGreaterThan(500);
  });

  test('a telephone number from which no spreadsheet computes a value stays unchanged', () => {
    const group = fc.stringMatching(/^\d{2,4}$/);
    const number = fc
      .tuple(fc.stringMatching(/^\d{1,3}$/), fc.constantFrom(' ', ' (', '  '), fc.array(group, { minLength: 1 }))
      .chain(([country, gap, groups]) =>
        fc.constantFrom(' ', '-', '.').map((between) => {
          const [area = '', ...rest] = groups;
          const closed = gap.endsWith('(') ? `${area}) ` : area;
          return `+${country}${gap}${[closed, ...rest].join(between)}`;
        }),
      );
    fc.assert(
      fc.property(number, (text) => {
        expect(computes(text)).toBe(false);
        expect(cellOf(text)).toBe(text);
      }),
    );
    for (const text of ['+14155550100', '+49.30.1234']) expect(cellOf(text)).toBe(text);
  });

  test('a text of words after a dash stays unchanged', () => {
    const words = fc.array(fc.stringMatching(/^[a-zà-öø-ÿ]{3,9}$/), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(words, fc.constantFrom(' ', '\n- ', ' & ', ' 12 ', ': '), (of, between) => {
        expect(cellOf(`- ${of.join(between)}`).replaceAll('"', '')).toBe(`- ${of.join(between)}`);
      }),
    );
  });

  test.each([
    ...['- two rooms', '- 2 rooms', '-5 degrees', '-5', '-', '--', '- a hall', '+ two', '− 5'],
    ...['-  two rooms', '- my house', '- a  hall', '- né two', '- come!  ', '- maybe; (soon)'],
  ])('the text %j stays unchanged', (text) => expect(cellOf(text)).toBe(text));

  test.each([
    ...['+1+1', '-2+3', '- 2+3', '+1-415-555-0100', '+1/415', '-A1', '- A1', '-TRUE', '- true', '--5', '-SUM(1)'],
    ...['+A1:B2 total', '+ A1 house'],
    ...["+cmd|' /C calc'!A0", '- two+SUM (1)', "- two|' /C calc'!A0", "- two+'[x]y'!A1", '-"5"', '- abc_1', '-５+1'],
    ...[
      '=1',
      '= 1',
      '@SUM(1)',
      '@ 1',
      '\t=1',
      '\u200e\u00ad＝1',
      '\0-1+1',
      '\r\n+1+1',
      '-two',
      '- two+SUM（1）',
      '- two｜a',
    ],
    ...['＋1 555 0100', '－ two rooms', ' +1 555 0100', '\u200e+1 555 0100'],
  ])('the text %j gets a prefix', (text) => {
    expect(isDefused(text)).toBe(true);
  });
});

describe('csvTimes', () => {
  test.each([
    ['UTC', '2026-12-01T23:59:59.999Z', '2026-12-01 23:59:59'],
    ['America/Los_Angeles', '2026-07-01T06:59:00.000Z', '2026-06-30 23:59:00'],
    ['Asia/Kolkata', '2026-12-01T23:59:59Z', '2026-12-02 05:29:59'],
    ['Europe/Berlin', '2026-10-25T01:30:00.000Z', '2026-10-25 02:30:00'],
    ['UTC', null, undefined],
    ['UTC', undefined, undefined],
  ])('writes in the time zone %s the time %s as %s', (zone, at, written) => {
    expect(csvTimes(zone)(at)).toBe(written);
  });
});

describe('submissionFormats', () => {
  test('has the columns in their order, with the client’s name and the whole id', () => {
    const item = keptSubmission(
      eventOf({
        id: '0190b111-0000-7000-8000-000000000001',
        form: 'homeowner_quote',
        origin: 'agent',
        client: 'acme',
        consent_recorded_at: '2026-09-01T12:00:00.000Z',
        fields: { email: 'ada@example.com', name: 'Ada, L.', phone: '+1 555 0100' },
      }),
    );
    const { head, csv } = submissionFormats('Europe/Berlin');
    const rule = /The columns of the CSV are (.*?)\./s.exec(readFileSync('docs/reference/13-commands.md', 'utf8'))?.[1];
    const columns: string[] = rule?.match(/\w+/g) ?? [];
    expect(head, 'Change the columns in reference §13.4 rule 5').toBe(`\uFEFF${columns.join()}\r\n`);
    const emptyCells = ','.repeat(columns.indexOf('note') - columns.indexOf('phone'));
    expect(csv({ ...item, progress: 'won', note: 'called' })).toBe(
      `2026-09-01 14:00:00,homeowner_quote,won,"Ada, L.",ada@example.com,+1 555 0100${emptyCells}called,agent,acme,delivered,0190b111-0000-7000-8000-000000000001,2026-09-01 14:00:00\r\n`,
    );
  });

  test('adds progress and note to a JSON line, after the status', () => {
    const item = { ...keptSubmission(eventOf()), progress: 'spam', note: 'a\nb' } as const;
    expect(JSON.parse(jsonLineOf(item))).toEqual({
      received_at: item.receivedAt,
      ...item.event,
      status: 'delivered',
      reason: null,
      progress: 'spam',
      note: 'a\nb',
      next_attempt_at: null,
      attempts: [],
    });
  });
});

test('csvHead begins with a byte order mark', () => {
  expect(csvHead(['a', 'b'])).toBe('\uFEFFa,b\r\n');
});

/** A strict parser of RFC 4180, behind a byte order mark. */
function parseCsv(text: string): string[][] {
  expect(text[0]).toBe('\uFEFF');
  const records: string[][] = [[]];
  const cell = /"((?:[^"]|"")*)"|([^",\r\n]*)/y;
  for (let at = 1; at < text.length; ) {
    cell.lastIndex = at;
    const found = cell.exec(text);
    records.at(-1)?.push(found?.[1]?.replaceAll('""', '"') ?? found?.[2] ?? '');
    at = cell.lastIndex;
    if (text[at] === ',') at += 1;
    else if (text.startsWith('\r\n', at)) {
      at += 2;
      if (at < text.length) records.push([]);
    } else throw new Error('Not RFC 4180.');
  }
  return records;
}

/** Result of a part of a formula: only a number, an error, or a computed value. An effect has precedence. */
type Part = 'number' | 'text' | 'error' | 'value' | 'effect';

/**
 * Returns true if a lenient spreadsheet computes a text: it parses as an expression, and has a call, a link, or operands
 * that are all known. A name is unknown, because a CSV file defines none.
 */
function computes(cell: string): boolean {
  const text = cell.normalize('NFKC').replace(/^[\s\p{Cf}\p{Cc}\u1160]+/u, '');
  const token = /\s+|\d+(?:\.\d+)?|"[^"]*"|'[^']*'|[\p{L}_][\p{L}\p{M}\p{N}_]*|<>|<=|>=|[-+*/^&=<>%:,;()|!@]|$/uy;
  const tokens: string[] = [];
  for (let at = 0; at < text.length; at = token.lastIndex) {
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    if (found === undefined || found === '') return false;
    tokens.push(/^\s/.test(found) ? ' ' : found);
  }
  let at = 0;
  const peek = () => tokens[at] ?? '';
  const skip = () => {
    while (peek() === ' ') at += 1;
  };
  const isOperand = (piece: string) => /^["'\p{L}_\d(]/u.test(piece);
  class NoFormula extends Error {}
  const both = (one: Part, other: Part): Part => {
    if (one === 'effect' || other === 'effect') return 'effect';
    return one === 'error' || other === 'error' ? 'error' : 'value';
  };

  function expression(isArguments = false): Part {
    let result = operand();
    for (;;) {
      const hadBlank = peek() === ' ';
      skip();
      if (isOperand(peek())) {
        // A blank is the intersection of two references or names.
        const next = tokens[at] ?? '';
        if (!hadBlank || result === 'number' || result === 'text' || /^[\d"]/.test(next)) throw new NoFormula();
        const other = operand();
        if (other === 'number' || other === 'text') throw new NoFormula();
        result = both(result, other);
      } else if (/^(?:[-+*/^&=<>:,;]|<>|<=|>=)$/.test(peek())) {
        // Ranges and lists consist of references.
        const isOfReferences = (isArguments ? /:/ : /[:,;]/).test(peek());
        at += 1;
        const other = operand();
        const isPlain = [result, other].some((part) => part === 'number' || part === 'text');
        if (isOfReferences && isPlain) throw new NoFormula();
        result = both(result, other);
      } else return result;
    }
  }

  function operand(): Part {
    skip();
    if (/^[-+@=]$/.test(peek())) {
      at += 1;
      return operand();
    }
    let result = primary();
    while (peek() === '%') {
      at += 1;
      result = both(result, 'value');
    }
    return result;
  }

  function primary(): Part {
    const piece = peek();
    at += 1;
    if (/^\d/.test(piece)) return 'number';
    if (piece.startsWith('"')) return 'text';
    if (piece === '(') {
      const result = expression();
      skip();
      if (peek() !== ')') throw new NoFormula();
      at += 1;
      return result;
    }
    if (!/^['\p{L}_]/u.test(piece)) throw new NoFormula();
    return name(piece);
  }

  function name(piece: string): Part {
    if (peek() === '|' || peek() === '!') {
      at += 1;
      primary();
      return 'effect';
    }
    const before = at;
    skip();
    if (peek() === '(' && !piece.startsWith("'")) {
      at += 1;
      skip();
      if (peek() !== ')') expression(true);
      skip();
      if (peek() !== ')') throw new NoFormula();
      at += 1;
      return 'effect';
    }
    at = before;
    if (piece.startsWith("'")) throw new NoFormula();
    return /^(?:[a-z]{1,3}\d{1,7}|r\d*c\d*|true|false)$/i.test(piece) ? 'value' : 'error';
  }

  try {
    const result = expression();
    skip();
    return at >= tokens.length && (result === 'effect' || result === 'value');
  } catch (error) {
    if (error instanceof NoFormula) return false;
    throw error;
  }
}
