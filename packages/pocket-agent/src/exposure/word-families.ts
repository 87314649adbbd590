// Words that mean about the same in descriptions of tools: a search for one also finds the others, with less weight.

/** Actions that many tools have: in a query they say less than the thing they are done to. */
const COMMON_ACTIONS = `
get fetch read retrieve obtain load view show open
create make write add generate build new produce draft compose start
add insert append attach put
search find lookup look query discover locate seek
navigate visit browse open goto go
delete remove erase clear forget drop purge
update edit modify change set replace adjust
list enumerate show
`;

const OTHERS = `
convert transform turn export translate
save store write export keep
send post submit publish deliver
run execute start launch invoke
stop kill terminate end cancel abort quit
move rename
copy duplicate clone
merge combine join together concatenate
split divide separate
compare diff difference versus
calculate compute evaluate math arithmetic
check validate verify test correct
analyze analysis examine investigate explain insight
summarize summary overview brief short
recommend suggest propose advise idea
draw visualize plot chart graph diagram render paint
format style bold layout
download upload
lock protect secure password
login auth credential password token secret key
remember memory store note observation
reply comment answer response discussion
image picture photo screenshot icon pictogram illustration drawing
video clip movie film youtube
audio sound music song track
website site webpage page url link web html browser
internet web online google
file document
folder directory
spreadsheet excel xlsx workbook sheet cell worksheet
presentation slide deck ppt pptx powerpoint
word doc docx document
pdf document
text string word content transcript
data dataset record information
price cost quote rate worth value
stock share ticker equity symbol
company firm business corporation organization
investor shareholder holder fund
dividend payout
crypto cryptocurrency bitcoin coin ethereum
currency exchange money euro dollar
news headline story article report
current latest recent now today newest live
past history historical previous earlier last
upcoming future next schedule soon
schedule calendar event appointment meeting
trending trend hot popular top ranking rank viral best
research study paper publication preprint literature article
patient clinical medical disease health trial cancer
gene genetic variant mutation
code source program script
bug issue error failure problem exception
task todo ticket issue
repository repo project git github
package library module dependency framework
documentation docs manual guide reference tutorial help
version release changelog
log output print console stdout
container docker image
process program pid
database table sql
license legal copyright
maintainer owner author publisher
owner registrant registered registrar belong whois
domain hostname dns
ip address network
size big large heavy weight length
vulnerability security hole exploit unsafe safe
alternative replacement instead similar
encoding charset utf unicode
size weight bytes
random dice die chance lottery
location place address coordinates where
map geographic area region district neighborhood
coordinates latitude longitude geocode position
route direction drive travel way path navigation
near nearby around close closest
commute travel office work
train railway rail station ticket
flight airline plane airport
hotel accommodation stay lodging apartment room listing airbnb
restaurant food cafe coffee
recipe dish meal cook food ingredient
weather forecast temperature rain snow wind
time hour clock
timezone time
person people user profile account player member
employee staff team colleague
email mail message inbox
chat message channel conversation
customer client contact lead
invoice bill payment charge order
click press tap button
fill enter input type form field
keyboard key press
game match play
movie film series show
museum art painting artwork collection exhibit
product item goods
review rating score quality
sentiment mood fear greed
beat tempo bpm rhythm
wiki wikipedia encyclopedia
hierarchy organization structure tree
share portion proportion percentage pie
relationship correlation scatter
cause fishbone reason
frequency distribution histogram
news 新闻 资讯
trending popular 热门 热榜 热搜
weather 天气
search 搜索 查询 query
get 获取
create 创建 生成
delete 删除
list 列表
file 文件
folder directory 目录
document 文档
image picture 图片 图像
video 视频
music 音乐
movie film 电影
book 图书 书籍
stock share 股票
price 价格
finance financial economy economic 财经 金融 经济
technology tech 科技 技术
business 商业 企业
game 游戏
character role 角色
recipe dish 菜谱
city 城市
train 火车 列车
ticket 车票 余票
station 车站
date 日期
time 时间
calendar 日历
map 地图
address location 地址
route 路线
translate 翻译
message 消息
email mail 邮件
user 用户
company 公司
product 商品 产品
order 订单
pay payment 支付
database 数据库
data 数据
website webpage 网页 网站
link url 链接
information info detail 信息 详情
recommend 推荐
ranking rank 排行 排名
`;

/** Words that many queries have, and that say less than the others. */
const COMMON_WORDS = `
current latest recent now today newest live available different first main key top name detail content information
`;

/** Words of a query that say nothing about a tool; `server`, `tool` and the like are in most descriptions. */
const STOP_WORDS = `
a an the of to in on for and or is are be by with from at as it its this that these those into using use used can will
you your their them they we our i me my which what how when where who whom whose why if not any all such via per based e
g etc within between about then than also please help some may do does did has have had was were there here so just need
want like would should could one s t ll re ve related relevant regarding concerning following given provide provides
according specific various important whether both each every respectively mcp llm llms server servers model context protocol tool tools ai assistant assistants
`;

export const stopWords: ReadonlySet<string> = new Set(STOP_WORDS.trim().split(/\s+/));

export const wordFamilies: readonly (readonly string[])[] = families(COMMON_ACTIONS + OTHERS);

/** They count less in a query. */
export const weakWords: readonly string[] = families(COMMON_ACTIONS + COMMON_WORDS).flat();

/** One family on each line. */
function families(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '));
}
