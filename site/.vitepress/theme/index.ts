// The default theme with system fonts and the styles of this site.
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
