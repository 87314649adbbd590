// Prices and amounts as text.
import type { Price } from './agents.ts';

const rounded = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
/** A price that people agree to is shown with all of its digits. */
const exact = new Intl.NumberFormat('en', { maximumSignificantDigits: 15 });

export function isPaid(price: Price | undefined): price is Price {
  return price !== undefined && [price.perCall, price.perMinute, price.perToken].some((part) => (part ?? 0) > 0);
}

export function priceText(price: Price | undefined): string {
  if (!price) return 'no price given';
  const parts = [
    [price.perCall, 'a call'],
    [price.perMinute, 'a minute'],
    [price.perToken, 'a token'],
  ] as const;
  const texts = parts.flatMap(([amount, what]) =>
    amount ? [`${inCurrency(price.currency)}${exact.format(amount)} ${what}`] : [],
  );
  return texts.join(', ') || 'free';
}

/** An amount, rounded to three digits. */
export function dollarsText(amount: number): string {
  return `$${rounded.format(amount)}`;
}

function inCurrency(currency = 'USD'): string {
  return currency === 'USD' ? '$' : `${currency} `;
}
