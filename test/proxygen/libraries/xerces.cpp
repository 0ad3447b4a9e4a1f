// Xerces-C: a SAX2 reader and its handlers behind proxies, and the large interfaces of its DOM.
// proxy: reader_proxy.hpp /usr/include/xercesc/sax2/SAX2XMLReader.hpp -- -I/usr/include
// proxy: content_proxy.hpp /usr/include/xercesc/sax2/ContentHandler.hpp -- -I/usr/include
// proxy: attributes_proxy.hpp /usr/include/xercesc/sax2/Attributes.hpp -- -I/usr/include
// proxy: document_proxy.hpp /usr/include/xercesc/dom/DOMDocument.hpp -- -I/usr/include
// proxy: element_proxy.hpp /usr/include/xercesc/dom/DOMElement.hpp -- -I/usr/include
// link: -lxerces-c
#include "attributes_proxy.hpp"
#include "content_proxy.hpp"
#include "document_proxy.hpp"
#include "element_proxy.hpp"
#include "reader_proxy.hpp"

#include "check.hpp"
#include <memory>
#include <xercesc/dom/DOM.hpp>
#include <xercesc/framework/MemBufInputSource.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/sax2/XMLReaderFactory.hpp>
#include <xercesc/util/PlatformUtils.hpp>

using namespace xercesc;

static const char text[] = "<?xml version='1.0'?><!-- c --><a x='1' y='2'>text<b/><?go on?><b>more &amp; more</b></a>";
static const char broken[] = "<a><b></a>";

static std::string narrow(const XMLCh *s)
{
    char *copy = XMLString::transcode(s);
    std::string result = copy ? copy : "null";
    XMLString::release(&copy);
    return result;
}

struct Handler : DefaultHandler {
    check::trace &t;
    bool proxied;
    Handler(check::trace &t, bool proxied) : t(t), proxied(proxied) {}
    void startElement(const XMLCh *, const XMLCh *name, const XMLCh *, const Attributes &attributes) override
    {
        AttributesProxy proxy(const_cast<Attributes &>(attributes));
        const Attributes &a = proxied ? proxy : attributes;
        t << narrow(name) << a.getLength();
        for (XMLSize_t i = 0; i < a.getLength(); i++)
            t << narrow(a.getQName(i)) << narrow(a.getValue(i)) << narrow(a.getType(a.getQName(i)));
    }
    void endElement(const XMLCh *, const XMLCh *name, const XMLCh *) override { t << "/" + narrow(name); }
    void characters(const XMLCh *chars, const XMLSize_t length) override { t << narrow(chars) << length; }
    void processingInstruction(const XMLCh *target, const XMLCh *data) override { t << narrow(target) << narrow(data); }
    void fatalError(const SAXParseException &e) override { throw std::runtime_error(narrow(e.getMessage())); }
};

static void parse(SAX2XMLReader &reader, ContentHandler &content, ErrorHandler &errors, check::trace &t)
{
    reader.setContentHandler(&content);
    reader.setErrorHandler(&errors);
    reader.setFeature(XMLUni::fgSAX2CoreNameSpaces, false);
    t << reader.getFeature(XMLUni::fgSAX2CoreNameSpaces) << (reader.getContentHandler() == &content) << reader.getErrorCount();
    t.thrown([&] { reader.parse(MemBufInputSource(reinterpret_cast<const XMLByte *>(text), sizeof text - 1, "text")); });
    t.thrown([&] { reader.parse(MemBufInputSource(reinterpret_cast<const XMLByte *>(broken), sizeof broken - 1, "broken")); });
    t.thrown([&] { reader.setFeature(u"no such feature", true); });
}

static void build(DOMDocument &document, bool proxied, check::trace &t)
{
    DOMElement *root = document.createElement(u"root");
    document.appendChild(root);
    DOMElementProxy proxy(*root);
    DOMElement &element = proxied ? proxy : *root;
    element.setAttribute(u"name", u"value");
    element.appendChild(document.createTextNode(u"some text"));
    element.appendChild(document.createComment(u"a comment"));
    t << narrow(element.getAttribute(u"name")) << narrow(element.getTagName()) << element.hasChildNodes() << narrow(element.getTextContent())
      << (document.getDocumentElement() == root) << document.getElementsByTagName(u"root")->getLength() << element.getChildNodes()->getLength()
      << narrow(document.getXmlVersion()) << document.getNodeType();
    try {
        document.createElement(u"not a name");
    } catch (const DOMException &e) {
        t << e.code;
    }
}

int main()
{
    XMLPlatformUtils::Initialize();
    check::trace direct, behind;
    for (bool proxied : {false, true}) {
        check::trace &t = proxied ? behind : direct;
        const std::unique_ptr<SAX2XMLReader> real(XMLReaderFactory::createXMLReader());
        Handler handler(t, proxied);
        SAX2XMLReaderProxy reader(*real);
        ContentHandlerProxy content(handler);
        parse(proxied ? reader : *real, proxied ? static_cast<ContentHandler &>(content) : handler, handler, t);
        DOMDocument *document = DOMImplementationRegistry::getDOMImplementation(u"Core")->createDocument();
        {
            DOMDocumentProxy proxy(*document);
            build(proxied ? proxy : *document, proxied, t);
        }
        document->release();
    }
    check::expect(direct.text() == behind.text(), direct.text() + "\n" + behind.text());
    for (const char *name : {"startElement", "characters", "createElement", "setAttribute", "getLength", "setFeature"})
        check::expect(check::calls[name] > 0, std::string(name) + " was not called");
    check::expect(check::calls["startDocument"] == 2, "startDocument");
    XMLPlatformUtils::Terminate();
    return check::failures != 0;
}
