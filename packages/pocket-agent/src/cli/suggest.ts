// Which of the words that exist was meant by one that does not, as the end of a sentence.
export { didYouMean } from '../suggest.ts';
